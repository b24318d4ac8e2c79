// What hotrow types prints of the tables depts and cities.
export type Database = {
  public: {
    Tables: {
      cities: {
        Row: { city: string; state: string; n: number | null };
        Insert: { city: string; state: string; n?: number | null };
        Update: { city?: string; state?: string; n?: number | null };
        Relationships: [];
      };
      depts: {
        Row: { id: number; name: string; loc: string | null };
        Insert: { id?: number; name: string; loc?: string | null };
        Update: { id?: number; name?: string; loc?: string | null };
        Relationships: [];
      };
    };
    Views: { [_ in never]: never };
    Functions: { [_ in never]: never };
    Enums: { [_ in never]: never };
    CompositeTypes: { [_ in never]: never };
  };
};
