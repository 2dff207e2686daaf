import type { Role } from '@leadwire/contracts/roles'
import { api, readData, type Schemas } from './api'

export type User = Schemas['User']

export const ROLE_LABELS: Record<Role, string> = {
  admin: 'Admin',
  sales: 'Sales',
  support: 'Support',
  viewer: 'Viewer',
}

/** Returns the name of the user or the token that made a change. */
export const nameActor = ({ type, id, name }: Schemas['Actor']): string =>
  type === 'user' ? name || `User ${id}` : `Token ${name}`

/** A user in the history of a lead. The e-mail address is null if the user was removed. */
export interface AssignedUser {
  id: number
  email: string | null
}

/** Describes the assigned user of a lead. Uses the e-mail address if the user is not in `users`. */
export const describeAssigned = (user: AssignedUser | null, users: User[] | undefined): string => {
  if (user === null) return 'none'
  const known = users?.find(({ id }) => id === user.id)
  return known?.name || user.email || `User ${user.id} (removed)`
}

/** Returns the first page of users, or the page after a cursor. */
export const listUserPage = (
  cursor: string | undefined,
  signal?: AbortSignal,
): Promise<Schemas['UserCursorPage']> =>
  readData(api().GET('/manage/users', { params: { query: { cursor } }, signal }))

/** Returns all users, page by page. */
export const listUsers = async (signal?: AbortSignal): Promise<User[]> => {
  const users: User[] = []
  let cursor: string | undefined
  do {
    const page = await listUserPage(cursor, signal)
    users.push(...page.data)
    cursor = page.next_cursor ?? undefined
  } while (cursor)
  return users
}
