// Names of the demo's tables, columns and foreign keys are checked by the compiler.
import { createClient } from '@supabase/supabase-js'
import type { Database } from './database.js'

const client = createClient<Database>('http://127.0.0.1:8080', 'anon')

type Emp = Database['public']['Tables']['emp']['Row']
const name = (emp: Pick<Emp, 'ename'>): string | null => emp.ename

export async function use(): Promise<number> {
  const { data } = await client.from('emp').select('empno, ename, sal').eq('deptno', 10).order('ename')
  for (const emp of data ?? []) {
    const no: number = emp.empno
    console.log(no, name(emp))
  }
  await client.from('orders').insert({ customer_id: 1, placed_on: '2026-01-01', status: 'open' })
  const lines = await client.from('order_lines').select('quantity, products(name)').limit(1).single()
  return lines.data?.products.name.length ?? 0
}

// @ts-expect-error: there is no such table
void client.from('employees')
// @ts-expect-error: there is no such column
void client.from('emp').update({ salary: 1 })
