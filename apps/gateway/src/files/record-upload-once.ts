import type { AttachFileRequest, UploadedFile } from '@leadwire/contracts'
import { type ErrorCode, keyUsedForAnother, ServiceError } from '@leadwire/service-kit'
import { idempotencyKey, replayable, requestFingerprint, type Saved } from '../api/idempotency'
import type { Call } from '../api/operation'
import type { Part } from '../body/read-multipart'
import { ProblemError } from '../http/problem'
import { addErrors } from '../validation/errors'
import { discardFiles, discardStoredFile, type FormRules, receiveForm, storedFile } from './receive-form'

/** Under which key the service saves the response with the record. */
export type SaveUnder = Pick<AttachFileRequest, 'idempotency' | 'claimId'>

interface Received {
  upload: UploadedFile
  /** What makes the request another one, beside its address. */
  content: object
  /** Makes the record of the stored file. */
  record: (saveUnder: SaveUnder) => Promise<Saved>
}

// After these errors the record may have been made. Bytes without a record only take room; a record without its bytes is a lost file.
const UNKNOWN: ReadonlySet<ErrorCode> = new Set(['unavailable', 'late', 'internal'])

/** Runs `record`, which makes the record of stored bytes. When it is refused, the bytes are deleted. */
const keepStoredFile = async (call: Call<unknown>, key: string, record: () => Promise<Saved>) => {
  try {
    return await record()
  } catch (error) {
    if (error instanceof ProblemError || (error instanceof ServiceError && !UNKNOWN.has(error.code)))
      await discardStoredFile(call.dependencies, key)
    else call.dependencies.logger.warn({ key }, 'a stored file may have no record')
    throw error
  }
}

/** A claim expires after ten seconds, so that a request whose gateway died can be sent again. */
const RENEW_EVERY_MS = 3000

/**
 * Receives the request's file and records it, once under each Idempotency-Key, which is held while the bytes arrive. `receive` streams
 * the file to files-service, which only checks it where `keep` is false. Resolves to the JSON of the response.
 */
export const recordUploadOnce = async (
  call: Call<unknown>,
  receive: (terms: { keep: boolean; sha256: boolean }) => Promise<Received>,
): Promise<Uint8Array> => {
  const { request, reply, dependencies } = call
  const { logger } = dependencies
  const { attachments } = call.clients
  const { tokenId } = request.principal
  const key = idempotencyKey(request)
  const claim = key === undefined ? undefined : await attachments.claimIdempotencyKey({ tokenId, key })
  const saved = claim?.saved
  const held = key && claim && !saved ? { tokenId, key, claimId: claim.claimId } : undefined
  const renew = (claimed: NonNullable<typeof held>) =>
    attachments
      .renewIdempotencyKey(claimed)
      .catch((err) => logger.warn({ err }, 'could not renew the claim of an idempotency key'))
  const renewing = held && setInterval(renew, RENEW_EVERY_MS, held)
  try {
    const { upload, content, record } = await receive({ keep: !saved, sha256: claim !== undefined })
    const fingerprint = requestFingerprint(request, content)
    if (saved && !fingerprint.equals(saved.fingerprint)) throw keyUsedForAnother()
    if (saved) return replayable(reply, { body: saved.body, replayed: true })
    const idempotency = held && { tokenId, key: held.key, fingerprint }
    const saveUnder = { idempotency, claimId: held?.claimId ?? '' }
    const recordStored = async () => {
      // An upload may take minutes.
      await call.recheck()
      return record(saveUnder)
    }
    return replayable(reply, await keepStoredFile(call, upload.key, recordStored))
  } catch (error) {
    // Failures are not saved.
    if (held)
      await attachments
        .releaseIdempotencyKey(held)
        .catch((err) => logger.warn({ err }, 'could not release an idempotency key'))
    throw error
  } finally {
    clearInterval(renewing)
  }
}

/** Reads a form with one file. Throws invalid with every error, the file's own among them; then no file is kept. */
const receiveFile = async <Fields>(call: Call<Fields>, terms: FormRules['terms']) => {
  let isGiven = false
  const refusalOf = ({ name }: Part) => {
    if (name !== 'file' || isGiven) return 'Only one file can be sent, as the field file.'
    isGiven = true
    return undefined
  }
  const form = await receiveForm(call.dependencies, call.reply, { terms, refusalOf })
  const addError = (message: string) => {
    form.errors = addErrors(form.errors, { file: [message] })
  }
  if ('file' in form.fields) addError('The file must be a file.')
  else if (!isGiven && !form.errors['file']) addError('The file field is required.')
  const { value: fields, errors = {} } = call.check(form)
  const [file] = form.files
  if (fields && file) return { ...file, fields }
  await discardFiles(call.dependencies, form.files)
  throw ServiceError.invalid(errors)
}

export const recordFileOnce = <Fields>(
  call: Call<Fields>,
  { collection, formats }: { collection: 'attachments' | 'images'; formats: readonly string[] },
  record: (fields: Fields, file: ReturnType<typeof storedFile>, saveUnder: SaveUnder) => Promise<Saved>,
): Promise<Uint8Array> =>
  recordUploadOnce(call, async (terms) => {
    const { fields, ...file } = await receiveFile(call, { collection, formats: formats.join(), ...terms })
    const { fileName, upload } = file
    const content = { ...fields, file_name: fileName, file: upload.sha256 }
    return { upload, content, record: (saveUnder) => record(fields, storedFile(file), saveUnder) }
  })
