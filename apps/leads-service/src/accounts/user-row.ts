import type { User } from '@leadwire/contracts'

export interface UserRow {
  id: number
  email: string
  name: string
  created_at: string
}

export const userOfRow = (row: UserRow): User => ({
  id: row.id,
  email: row.email,
  name: row.name,
  createdAt: row.created_at,
})
