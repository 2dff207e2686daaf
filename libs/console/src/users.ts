import { api, readData, type Schemas } from './api'

export type User = Schemas['User']

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
