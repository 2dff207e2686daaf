import { FILE_FORMATS, type FileFormat, type UploadedFile, type UploadTerms } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { detectFormat } from '../formats/detect-format'
import { type Detected, listFileErrors } from '../formats/file-errors'
import type { UploadOutcome } from './files-metrics'
import { type Spooled, withSpooledUpload } from './spool-upload'
import { createCloseSignal, createObjectKey, type Dependencies } from './stored-files'

const FORMAT = `(${Object.keys(FILE_FORMATS).join('|')})`

// Less than the gateway's limit of 30 s, so that the client gets the error of this service and not a timeout.
// Detecting the format of the largest file normally takes only 0.1 s, so 20 s leave a wide margin.
const DETECTION_LIMIT_MS = 20_000

const Terms = {
  type: 'object',
  required: ['collection', 'file_name', 'formats', 'max_bytes'],
  properties: {
    collection: { type: 'string', pattern: '^[a-z]+$' },
    file_name: { type: 'string' },
    formats: { type: 'string', pattern: `^${FORMAT}(,${FORMAT})*$` },
    detect: { type: 'boolean', default: true },
    max_bytes: { type: 'integer', minimum: 1 },
    sha256: { type: 'boolean', default: false },
  },
}

/**
 * POST /files. Receives and checks a file, and stores it if it is valid. Leaves nothing behind if the file is
 * invalid or the client disconnects.
 */
export const uploadFile = (app: FastifyInstance, dependencies: Dependencies): void => {
  const running = new Set<Promise<unknown>>()
  app.post<{ Querystring: UploadTerms }>(
    '/files',
    { schema: { querystring: Terms } },
    async (request, reply) => {
      const uploaded = receive(dependencies, request, createCloseSignal(reply))
      running.add(uploaded)
      return uploaded.finally(() => running.delete(uploaded))
    },
  )
  // Waits for uploads whose clients have disconnected, so that their files are removed before the server
  // stops.
  app.addHook('onClose', async () => void (await Promise.allSettled(running)))
}

const receive = async (
  dependencies: Dependencies,
  { raw, query: terms }: FastifyRequest<{ Querystring: UploadTerms }>,
  signal: AbortSignal,
): Promise<UploadedFile> => {
  const { store, space, metrics, logger } = dependencies
  const started = performance.now()
  // The fields of the log line.
  const facts = { collection: terms.collection, bytes: 0 }
  const onBytes = (count: number) => {
    facts.bytes += count
    metrics.bytes.inc({ direction: 'in' }, count)
  }
  let outcome: UploadOutcome = 'failed'
  try {
    const { max_bytes: maxBytes, sha256: wantsSha256 } = terms
    const options = { folder: store.spoolFolder, space, maxBytes, wantsSha256, onBytes }
    const uploaded = await withSpooledUpload(raw, options, (spooled) =>
      finish(dependencies, { terms, signal, facts }, spooled),
    )
    outcome = 'kept'
    return uploaded
  } catch (error) {
    outcome = signal.aborted || raw.errored ? 'cancelled' : classifyOutcome(error)
    throw error
  } finally {
    const seconds = (performance.now() - started) / 1000
    metrics.uploads.inc({ outcome })
    metrics.seconds.observe(seconds)
    logger.info({ ...facts, outcome, seconds }, 'upload')
  }
}

const finish = async (
  { store, detectionMs = DETECTION_LIMIT_MS }: Dependencies,
  { terms, signal, facts }: { terms: UploadTerms; signal: AbortSignal; facts: Record<string, unknown> },
  { path, size, sha256 }: Spooled,
): Promise<UploadedFile> => {
  const detected: Detected = terms.detect
    ? await detectInTime(path, signal, detectionMs)
    : { format: terms.formats as FileFormat }
  const { format, charset } = detected
  const errors = listFileErrors(detected, { name: terms.file_name, size, accepted: terms.formats.split(',') })
  Object.assign(facts, { format, errors })
  if (!format || errors.length > 0) throw ServiceError.invalid({ file: errors })
  const { contentType: type } = FILE_FORMATS[format]
  // Omits the charset UTF-8, because for a stored file, `text/plain` without a charset means UTF-8.
  const contentType = charset && charset !== 'utf-8' ? `${type}; charset=${charset}` : type
  const file = { size, content_type: contentType, sha256 }
  signal.throwIfAborted()
  const key = createObjectKey(terms.collection, format)
  facts['key'] = key
  try {
    await store.put(key, { path, size, contentType }, signal)
    signal.throwIfAborted()
  } catch (error) {
    // Deletes the file, because the store may hold the file in spite of the error. A store that timed out may
    // have stored the file. After a client has disconnected, the store may have a file without a record.
    // Does not wait for the deletion, because the store may time out a second time.
    void store.delete(key).catch(() => undefined)
    throw error
  }
  return { key, ...file }
}

/** Detects the format of a file. Throws if `signal` aborts, and throws `unavailable` after `limitMs`. */
const detectInTime = async (path: string, signal: AbortSignal, limitMs: number): Promise<Detected> => {
  const limit = AbortSignal.timeout(limitMs)
  try {
    return await detectFormat(path, AbortSignal.any([signal, limit]))
  } catch (error) {
    if (signal.aborted || !limit.aborted) throw error
    throw new ServiceError('unavailable', 'The check of the file took too long. Try again shortly.', {
      cause: error,
    })
  }
}

const OUTCOMES: Partial<Record<string, UploadOutcome>> = {
  invalid: 'refused',
  too_large: 'too_large',
  unavailable: 'unavailable',
}

const classifyOutcome = (error: unknown): UploadOutcome =>
  (error instanceof ServiceError && OUTCOMES[error.code]) || 'failed'
