import { FILE_FORMATS, type FileFormat, type UploadedFile, type UploadTerms } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { detectFormat } from '../formats/detect-format'
import { type Detected, errorsOfFile } from '../formats/file-errors'
import type { ObjectStore } from '../store/object-store'
import type { UploadOutcome } from './files-metrics'
import { type Spooled, withSpooledUpload } from './spool-upload'
import { type Dependencies, newObjectKey, signalOf } from './stored-files'

const FORMAT = `(${Object.keys(FILE_FORMATS).join('|')})`

const Terms = {
  type: 'object',
  required: ['collection', 'file_name', 'formats', 'max_bytes'],
  properties: {
    collection: { type: 'string', pattern: '^[a-z]+$' },
    file_name: { type: 'string' },
    formats: { type: 'string', pattern: `^${FORMAT}(,${FORMAT})*$` },
    detect: { type: 'boolean', default: true },
    max_bytes: { type: 'integer', minimum: 1 },
    keep: { type: 'boolean', default: true },
    sha256: { type: 'boolean', default: false },
  },
}

/**
 * POST /files: receives a file, checks it, and stores it when it is valid and the client asks for that. Otherwise, and when the
 * client disconnects, nothing is left behind.
 */
export const uploadFile = (app: FastifyInstance, dependencies: Dependencies): void => {
  const running = new Set<Promise<unknown>>()
  app.post<{ Querystring: UploadTerms }>(
    '/files',
    { schema: { querystring: Terms } },
    async (request, reply) => {
      const uploaded = receive(dependencies, request, signalOf(reply))
      running.add(uploaded)
      return uploaded.finally(() => running.delete(uploaded))
    },
  )
  // Closes the connection of a client that disconnected before its file is removed.
  app.addHook('onClose', async () => void (await Promise.allSettled(running)))
}

const receive = async (
  { store, metrics, logger }: Dependencies,
  { raw, query: terms }: FastifyRequest<{ Querystring: UploadTerms }>,
  signal: AbortSignal,
): Promise<UploadedFile> => {
  const started = performance.now()
  // For the log line.
  const facts = { collection: terms.collection, bytes: 0 }
  const onBytes = (count: number) => {
    facts.bytes += count
    metrics.bytes.inc({ direction: 'in' }, count)
  }
  let outcome: UploadOutcome = 'failed'
  try {
    const { max_bytes: maxBytes, sha256: wantsSha256 } = terms
    const options = { folder: store.spoolFolder, maxBytes, wantsSha256, onBytes }
    const uploaded = await withSpooledUpload(raw, options, (spooled) =>
      finish(store, { terms, signal, facts }, spooled),
    )
    outcome = uploaded.key === '' ? 'checked' : 'kept'
    return uploaded
  } catch (error) {
    outcome = signal.aborted || raw.errored ? 'cancelled' : outcomeOf(error)
    throw error
  } finally {
    const seconds = (performance.now() - started) / 1000
    metrics.uploads.inc({ outcome })
    metrics.seconds.observe(seconds)
    logger.info({ ...facts, outcome, seconds }, 'upload')
  }
}

const finish = async (
  store: ObjectStore,
  { terms, signal, facts }: { terms: UploadTerms; signal: AbortSignal; facts: Record<string, unknown> },
  { path, size, sha256 }: Spooled,
): Promise<UploadedFile> => {
  const detected: Detected = terms.detect ? await detectFormat(path) : { format: terms.formats as FileFormat }
  const { format, charset } = detected
  const errors = errorsOfFile(detected, { name: terms.file_name, size, accepted: terms.formats.split(',') })
  Object.assign(facts, { format, errors })
  if (!format || errors.length > 0) throw ServiceError.invalid({ file: errors })
  const { contentType: type } = FILE_FORMATS[format]
  // A text without a charset is UTF-8.
  const contentType = charset && charset !== 'utf-8' ? `${type}; charset=${charset}` : type
  const file = { size, content_type: contentType, sha256 }
  if (!terms.keep) return { key: '', ...file }
  signal.throwIfAborted()
  const key = newObjectKey(terms.collection, format)
  facts['key'] = key
  try {
    await store.put(key, { path, size, contentType }, signal)
    signal.throwIfAborted()
  } catch (error) {
    // A client that disconnected never learns the key, and a store that timed out may have stored the file.
    // Not awaited: that store may be silent again.
    void store.delete(key).catch(() => undefined)
    throw error
  }
  return { key, ...file }
}

const OUTCOME_OF: Partial<Record<string, UploadOutcome>> = {
  invalid: 'refused',
  too_large: 'too_large',
  unavailable: 'unavailable',
}

const outcomeOf = (error: unknown): UploadOutcome =>
  (error instanceof ServiceError && OUTCOME_OF[error.code]) || 'failed'
