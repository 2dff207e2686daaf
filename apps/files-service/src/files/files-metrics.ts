import type { Metrics } from '@leadwire/service-kit'
import { Counter, Histogram } from 'prom-client'

/** How an upload ended. */
export type UploadOutcome =
  | 'kept'
  | 'checked' // nothing was to be kept
  | 'refused' // for its type, its name or its emptiness
  | 'too_large'
  | 'cancelled' // by the caller
  | 'unavailable' // the store is unavailable
  | 'failed' // an internal error

export type FilesMetrics = ReturnType<typeof createFilesMetrics>

export const createFilesMetrics = (registry: Metrics) => {
  const registers = [registry]
  const uploads = new Counter({
    name: 'files_uploads_total',
    help: 'Uploads by how they ended.',
    labelNames: ['outcome'],
    registers,
  })
  const bytes = new Counter({
    name: 'files_bytes_total',
    help: 'Bytes of files that came in and went out.',
    labelNames: ['direction'],
    registers,
  })
  const seconds = new Histogram({
    name: 'files_upload_seconds',
    help: 'Time from the start of an upload to its answer.',
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
    registers,
  })
  return {
    received: (count: number) => bytes.inc({ direction: 'in' }, count),
    sent: (count: number) => bytes.inc({ direction: 'out' }, count),
    uploaded: (outcome: UploadOutcome, duration: number) => {
      uploads.inc({ outcome })
      seconds.observe(duration)
    },
  }
}
