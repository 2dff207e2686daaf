import type { Tenant } from './stage'

export type LoggedEvent = {
  id: string
  sequence: number
  type: string
  lead_reference: string
  lead_version: number
  created_at: string
  erased: boolean
  body: unknown
}

export type EventPage = { data: LoggedEvent[]; next_cursor: string }

/** Reads a page of the event log. Throws unless the response is 200. */
export const readEvents = async ({ client }: Tenant, query = ''): Promise<EventPage> => {
  const { status, text, json } = await client.request<EventPage>('GET', `/manage/events${query}`)
  if (status !== 200) throw new Error(`the response to GET /manage/events${query} was ${status}: ${text}`)
  return json
}
