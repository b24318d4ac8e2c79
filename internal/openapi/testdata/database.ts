export type Json = string | number | boolean | null | { [key: string]: Json | undefined } | Json[]

export type Database = {
  public: {
    Tables: {
      users: {
        Row: {
          id: number
        }
        Insert: {
          id?: number
        }
        Update: {
          id?: number
        }
        Relationships: []
      }
      "shop.line items": {
        Row: {
          order: number
          sku: string
          owner: number
          price: number
          "made-on": string | null
          tags: string[] | null
          data: Json | null
          total: number | null
        }
        Insert: {
          order: number
          sku: string
          owner: number
          price?: number
          "made-on"?: string | null
          tags?: string[] | null
          data?: Json | null
          total?: never
        }
        Update: {
          order?: number
          sku?: string
          owner?: number
          price?: number
          "made-on"?: string | null
          tags?: string[] | null
          data?: Json | null
          total?: never
        }
        Relationships: [
          { foreignKeyName: "items_owner_fkey"; columns: ["owner"]; isOneToOne: false; referencedRelation: "users"; referencedColumns: ["id"] },
        ]
      }
    }
    Views: { [_ in never]: never }
    Functions: { [_ in never]: never }
    Enums: { [_ in never]: never }
    CompositeTypes: { [_ in never]: never }
  }
}
