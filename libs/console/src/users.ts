import { api, dataOf, type Schemas } from './api'

export type User = Schemas['User']

export const listUsers = async (signal?: AbortSignal): Promise<User[]> =>
  (await dataOf(api().GET('/manage/users', { signal }))).data
