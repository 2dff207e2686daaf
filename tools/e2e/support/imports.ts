import { eventually } from '@leadwire/test-kit'
import { LEAD, type Lead, type Tenant } from './stage'

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

/** Renders a CSV file with a header and one lead for each name. */
export const renderCsv = (names: string[]): string => {
  const rest = Object.values({ ...LEAD, name: undefined }).filter((value) => value !== undefined)
  return [COLUMNS.join(','), ...names.map((name) => [name, ...rest].join(','))].join('\n')
}

export const renderNdjson = (leads: object[]): string =>
  leads.map((lead) => `${JSON.stringify({ ...LEAD, ...lead })}\n`).join('')

/** Creates functions for the imports of one account. */
export const createImports = (tenant: Tenant) => {
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
      if (sent.status !== 202) throw new Error(`the response to the import was ${sent.status}: ${sent.text}`)
      return eventually(
        async () => {
          const found = await retrieve(sent.json.data.id)
          expect(found.finished_at).not.toBeNull()
          return found
        },
        { timeoutMs: 120_000, everyMs: 100 },
      )
    },
    errors: async (id: number, cursor = '') => {
      const { json } = await tenant.client.request<{
        data: { row: number; errors: Record<string, string[]>; values: object }[]
        next_cursor: string | null
      }>('GET', `/manage/imports/${id}/errors${cursor}`)
      return json
    },
    failedRows: (id: number) => tenant.client.request('GET', `/manage/imports/${id}/failed-rows`),
    /** Exports all leads in the order of their creation. */
    leads: async (): Promise<(Lead & { name: string })[]> => {
      const { text } = await tenant.client.request('GET', '/manage/exports')
      return text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line))
    },
  }
}
