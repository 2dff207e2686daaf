import { api, loadDocument, readData, type Schemas, slowApi } from './api'
import type { Tone } from './parts/badge'

export type Import = Schemas['Import']
export type FailedRow = Schemas['ImportError']

export const STATES: Record<Import['state'], { word: string; tone: Tone }> = {
  queued: { word: 'Waiting', tone: 'calm' },
  running: { word: 'Running', tone: 'warn' },
  finished: { word: 'Finished', tone: 'good' },
  failed: { word: 'Failed', tone: 'bad' },
  cancelled: { word: 'Cancelled', tone: 'calm' },
}

/** A column of a file: its content, an example, and whether each row needs a value. */
export interface FileColumn {
  name: string
  what: string
  example: string
  isNeeded: boolean
}

/** A column that only imports have, because only an import can set the time of a lead. */
const CREATED_AT: FileColumn = {
  name: 'created_at',
  what: 'Time when the lead was created, in the past. Default: now.',
  example: '17/05/2024 09:30',
  isNeeded: false,
}

/** Loads the columns of a file from the OpenAPI document. */
export const loadColumns = async (): Promise<FileColumn[]> => {
  const { properties, required } = (await loadDocument()).components.schemas['CreateVisitorLeadRequest']!
  const columns = Object.entries(properties).map(([name, { description = '', examples = [''] }]) => ({
    name,
    what: description.replaceAll('`', ''),
    example: String(examples[0]),
    isNeeded: required.includes(name),
  }))
  return [...columns, CREATED_AT]
}

const quoteCell = (text: string) => `"${text.replaceAll('"', '""')}"`

/** Creates a file with all columns and one row. */
export const createTemplate = async (): Promise<Blob> => {
  const columns = await loadColumns()
  const examples = columns.map(({ example, isNeeded }) => (isNeeded ? example : ''))
  const rows = [columns.map(({ name }) => name), examples]
  const lines = rows.map((row) => `${row.map(quoteCell).join(',')}\r\n`)
  return new Blob(lines, { type: 'text/csv' })
}

export const CHARSETS: [value: string, text: string][] = [
  ['', 'UTF-8, or UTF-16 with a byte order mark'],
  [';charset=windows-1252', "Windows-1252, Excel's plain CSV"],
]

/** Returns the format of a file, which the ending of its name tells. */
export const chooseFormat = (fileName: string): Import['format'] =>
  /\.(ndjson|jsonl)$/i.test(fileName) ? 'ndjson' : 'csv'

/** The maximum length of a file's name. A longer name is cut. */
const MAX_NAME = 255

interface Upload {
  file: Blob
  fileName: string
  format: Import['format']
  charset?: string
  webhooks: boolean
  idempotencyKey?: string
}

export const createImport = async (asked: Upload): Promise<Import> => {
  const { file, fileName, format, charset = '', webhooks, idempotencyKey } = asked
  const upload = {
    params: {
      query: { webhooks, file_name: [...fileName].slice(0, MAX_NAME).join('') },
      header: { 'Idempotency-Key': idempotencyKey },
    },
    headers: { 'content-type': (format === 'ndjson' ? 'application/x-ndjson' : 'text/csv') + charset },
    body: file as unknown as string,
    bodySerializer: () => file,
  }
  return (await readData(slowApi().POST('/manage/imports', upload))).data
}

export const retrieveImport = async (id: number, signal?: AbortSignal): Promise<Import> =>
  (await readData(api().GET('/manage/imports/{id}', { params: { path: { id } }, signal }))).data

/** Downloads the rejected rows of an import as a file that can be imported again. */
export const downloadFailedRows = (id: number): Promise<Blob> =>
  readData(slowApi().GET('/manage/imports/{id}/failed-rows', { params: { path: { id } }, parseAs: 'blob' }))
