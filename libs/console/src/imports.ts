import { api, dataOf, type Schemas, slowApi } from './api'
import type { Tone } from './parts/badge'

export type Import = Schemas['Import']
type Column = keyof Schemas['CreateVisitorLeadRequest']

export const STATES: Record<Import['state'], { word: string; tone: Tone }> = {
  queued: { word: 'Waiting', tone: 'calm' },
  running: { word: 'Running', tone: 'warn' },
  finished: { word: 'Finished', tone: 'good' },
  failed: { word: 'Failed', tone: 'bad' },
  cancelled: { word: 'Cancelled', tone: 'calm' },
}

/** What a file may have: what it is, an example, and whether each row needs it. */
export const COLUMNS: Record<Column, { what: string; example: string; isNeeded?: true }> = {
  name: { what: 'Name of the lead', example: 'New windows, front of house', isNeeded: true },
  first_name: { what: "Customer's first name", example: 'Ada', isNeeded: true },
  last_name: { what: "Customer's last name", example: 'Lovelace', isNeeded: true },
  company_name: { what: "Customer's company", example: '' },
  email: { what: "Customer's e-mail address", example: 'ada@example.com', isNeeded: true },
  phone: { what: 'Telephone number', example: '020 7946 0123', isNeeded: true },
  mobile: { what: 'Mobile number', example: '' },
  postcode: { what: 'UK postcode', example: 'SW1A 1AA', isNeeded: true },
  referrer: {
    what: 'Where the lead came from, such as Website or Phone',
    example: 'Website',
    isNeeded: true,
  },
  status: { what: 'Status, such as open or sold', example: 'open', isNeeded: true },
  user_id: { what: 'Id of the user to assign', example: '' },
  value: { what: 'Value in pounds', example: '4500' },
  description: { what: 'Text, also of many lines', example: 'Call after six' },
  user_agent: { what: "The visitor's browser", example: '' },
  ip: { what: "The visitor's address", example: '' },
  referrer_url: { what: 'The page that the visitor came from', example: '' },
  test: { what: 'true marks a test lead', example: '' },
  quotes: { what: 'Quotes with items, as JSON', example: '' },
}

const cell = (text: string) => `"${text.replaceAll('"', '""')}"`

/** A file with every column and one row. */
export const template = (): Blob => {
  const rows = [Object.keys(COLUMNS), Object.values(COLUMNS).map(({ example }) => example)]
  return new Blob([rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('')], { type: 'text/csv' })
}

export const CHARSETS: [value: string, text: string][] = [
  ['', 'UTF-8, or UTF-16 with a byte order mark'],
  [';charset=windows-1252', "Windows-1252, Excel's plain CSV"],
]

interface Sent {
  file: File
  charset: string
  webhooks: boolean
}

export const createImport = async ({ file, charset, webhooks }: Sent): Promise<Import> => {
  const isLines = /\.(ndjson|jsonl)$/i.test(file.name)
  const upload = {
    params: { query: { webhooks } },
    headers: { 'content-type': (isLines ? 'application/x-ndjson' : 'text/csv') + charset },
    body: file as unknown as string,
    bodySerializer: () => file,
  }
  return (await dataOf(slowApi().POST('/manage/imports', upload))).data
}

export const retrieveImport = async (id: number, signal?: AbortSignal): Promise<Import> =>
  (await dataOf(api().GET('/manage/imports/{id}', { params: { path: { id } }, signal }))).data
