import { eventually } from '@leadwire/test-kit'
import { LEAD, type Lead, type Tenant } from '../stage.fixture'

export type Import = {
  id: number
  state: string
  file_size: number
  bytes_read: number
  rows_read: number
  rows_created: number
  rows_failed: number
  failure: string | null
  finished_at: string | null
  [field: string]: unknown
}

export const COLUMNS = Object.keys(LEAD)

/** Lines of CSV with these names below a header. */
export const csvOf = (names: string[]): string => {
  const rest = Object.values({ ...LEAD, name: undefined }).filter((value) => value !== undefined)
  return [COLUMNS.join(','), ...names.map((name) => [name, ...rest].join(','))].join('\n')
}

export const ndjsonOf = (leads: object[]): string =>
  leads.map((lead) => `${JSON.stringify({ ...LEAD, ...lead })}\n`).join('')

/** What stands behind the operations of imports of one account. */
export const importsOf = (tenant: Tenant) => {
  const post = (body: string | Buffer, { type = 'text/csv', query = '', headers = {} } = {}) =>
    tenant.client.request<{ data: Import }>('POST', `/manage/imports${query}`, {
      body,
      headers: { 'content-type': type, ...headers },
    })
  const retrieve = (id: number) => tenant.send<Import>('GET', `/manage/imports/${id}`)
  return {
    post,
    retrieve,
    /** Sends a file and waits until its import has ended. */
    run: async (...args: Parameters<typeof post>): Promise<Import> => {
      const sent = await post(...args)
      if (sent.status !== 202) throw new Error(`answered ${sent.status}: ${sent.text}`)
      return eventually(
        async () => {
          const found = await retrieve(sent.json.data.id)
          expect(found.finished_at).not.toBeNull()
          return found
        },
        { timeoutMs: 120_000, everyMs: 100 },
      )
    },
    faults: async (id: number, cursor = '') => {
      const { json } = await tenant.client.request<{
        data: { row: number; errors: Record<string, string[]> }[]
        next_cursor: string | null
      }>('GET', `/manage/imports/${id}/faults${cursor}`)
      return json
    },
    /** All leads, in the order in which they were created. */
    leads: async (): Promise<(Lead & { name: string })[]> => {
      const { text } = await tenant.client.request('GET', '/manage/exports')
      return text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line))
    },
  }
}
