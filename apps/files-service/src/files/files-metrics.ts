import type { Metrics } from '@leadwire/service-kit'
import { Counter, Histogram } from 'prom-client'

export type UploadOutcome =
  | 'kept'
  | 'refused' // the type or the name is invalid, or the file is empty
  | 'too_large'
  | 'cancelled' // the client disconnected
  | 'unavailable' // the store was unavailable, the spool was full, or the check timed out
  | 'failed' // internal error

export type FilesMetrics = ReturnType<typeof createFilesMetrics>

export const createFilesMetrics = (registry: Metrics) => ({
  uploads: new Counter({
    name: 'files_uploads_total',
    help: 'Uploads by outcome.',
    labelNames: ['outcome'],
    registers: [registry],
  }),
  bytes: new Counter({
    name: 'files_bytes_total',
    help: 'Bytes of files received and sent, by direction (in, out).',
    labelNames: ['direction'],
    registers: [registry],
  }),
  seconds: new Histogram({
    name: 'files_upload_seconds',
    help: 'Time from the start of an upload to its response.',
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
    registers: [registry],
  }),
})
