import { ServiceError } from '@leadwire/service-kit'

/** What an import shows. */
export interface ImportRow {
  id: number
  state: 'queued' | 'running' | 'finished' | 'failed' | 'cancelled'
  format: string
  webhooks: boolean
  file_size: number
  bytes_read: number
  rows_read: number
  rows_created: number
  rows_failed: number
  failure: string | null
  created_at: string
  finished_at: string | null
}

/** Of the table as `t`, in the order in which they are shown. */
export const IMPORT_COLUMNS = `t.id, t.state, t.format, t.webhooks, t.file_size, t.position AS bytes_read, t.rows_read,
  t.rows_created, t.rows_failed, t.failure, t.created_at, t.finished_at`

export const importBody = (row: ImportRow): Buffer => Buffer.from(`{"data":${JSON.stringify(row)}}`)

export const importNotFound = () => new ServiceError('not_found', 'There is no such import.')
