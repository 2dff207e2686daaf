import { api, dataOf, loadDocument, type Schemas, slowApi } from './api'
import type { Tone } from './parts/badge'

export type Import = Schemas['Import']

export const STATES: Record<Import['state'], { word: string; tone: Tone }> = {
  queued: { word: 'Waiting', tone: 'calm' },
  running: { word: 'Running', tone: 'warn' },
  finished: { word: 'Finished', tone: 'good' },
  failed: { word: 'Failed', tone: 'bad' },
  cancelled: { word: 'Cancelled', tone: 'calm' },
}

/** A column of a file: what it has, an example, and whether each row needs it. */
export interface FileColumn {
  name: string
  what: string
  example: string
  isNeeded: boolean
}

/** The columns of a file, from the API's description of itself. */
export const loadColumns = async (): Promise<FileColumn[]> => {
  const { properties, required } = (await loadDocument()).components.schemas['CreateVisitorLeadRequest']!
  return Object.entries(properties).map(([name, { description = '', examples = [''] }]) => ({
    ...{ name, what: description.replaceAll('`', ''), example: String(examples[0]) },
    isNeeded: required.includes(name),
  }))
}

const cell = (text: string) => `"${text.replaceAll('"', '""')}"`

/** A file with every column and one row. */
export const template = async (): Promise<Blob> => {
  const columns = await loadColumns()
  const examples = columns.map(({ example, isNeeded }) => (isNeeded ? example : ''))
  const rows = [columns.map(({ name }) => name), examples]
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
