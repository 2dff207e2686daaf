import type { Idempotency, UploadedFile } from '@leadwire/contracts'
import { addErrors } from '@leadwire/requests'
import { type ErrorCode, ServiceError } from '@leadwire/service-kit'
import { readIdempotencyKey, renderSaved, requestFingerprint, type Saved } from '../api/call-limits'
import type { Call } from '../api/operation'
import type { Part } from '../body/read-multipart'
import { ProblemError } from '../http/problem'
import { discardFiles, discardStoredFile, type FormRules, receiveForm, storedFile } from './receive-form'

// An upload first stores its bytes under a new name. Then leads-service writes the record in one transaction.
// The same transaction saves the response if the request has an Idempotency-Key (`answerUnderKey`). No lock
// is held while the bytes arrive.
//
// Two uploads with one key:  gateway 1                    gateway 2
//                            stores the bytes A           stores the bytes B
//                            record of A: locks the key   record of B: 409 while A is being recorded
//                            commit: 200                  record of B: A's saved response, or 422
//                                                         deletes B in all three cases
//
// If a gateway dies between storing and recording, the bytes remain without a record. The key is still
// unused, so the client can send the request again. If a gateway dies before it deletes the bytes of a
// refused record, the bytes also remain. leads-service deletes such bytes (`delete-unnamed-files.ts`), but
// only after an hour, because until then their record may still be written. `attachments.spec.ts` of
// leads-service proves that only one of many uploads with one key is recorded. `attach-file.spec.ts` proves
// that the gateways delete the bytes of all other uploads.

interface Received {
  upload: UploadedFile
  /** The parsed content. The method, the path and the content together identify the request. */
  content: object
  /** Writes the record of the stored file, and saves the response under the idempotency key. */
  record: (idempotency: Idempotency | undefined) => Promise<Saved>
}

// After these errors, the record may exist. The gateway then keeps the bytes, because bytes without a record
// only use space, but a record without its bytes is a lost file.
const UNKNOWN: ReadonlySet<ErrorCode> = new Set(['unavailable', 'late', 'internal'])

/**
 * Runs `record`, which writes the record of a stored file. Deletes the bytes if leads-service refuses the
 * record, or if an earlier upload with the same Idempotency-Key is already recorded.
 */
const keepStoredFile = async (call: Call<unknown>, key: string, record: () => Promise<Saved>) => {
  try {
    const saved = await record()
    if (saved.replayed) await discardStoredFile(call.dependencies, key)
    return saved
  } catch (error) {
    if (error instanceof ProblemError || (error instanceof ServiceError && !UNKNOWN.has(error.code)))
      await discardStoredFile(call.dependencies, key)
    else call.dependencies.logger.warn({ key }, 'a stored file may have no record')
    throw error
  }
}

/**
 * Receives the file of a request and records the file once for each Idempotency-Key. `receive` streams the
 * file to files-service. If `sha256` is true, `receive` also requests the digest of the file, for the
 * fingerprint. Resolves with the JSON of the response.
 */
export const recordUpload = async (
  call: Call<unknown>,
  receive: (terms: { sha256: boolean }) => Promise<Received>,
): Promise<Uint8Array> => {
  const { request, reply } = call
  const key = readIdempotencyKey(request)
  const { upload, content, record } = await receive({ sha256: key !== undefined })
  const { tokenId } = request.principal
  const fingerprint = requestFingerprint(request, content)
  const idempotency = key === undefined ? undefined : { tokenId, key, fingerprint }
  const recordStored = async () => {
    // Verifies the token again, because the token may have been revoked during an upload of minutes.
    await call.recheck()
    return record(idempotency)
  }
  return renderSaved(reply, await keepStoredFile(call, upload.key, recordStored))
}

/**
 * Reads a form with one file. Throws `invalid` with all errors of the file and the fields. After an error, no
 * file is kept.
 */
const receiveFile = async <Fields>(call: Call<Fields>, terms: FormRules['terms']) => {
  let isGiven = false
  const refuseFile = ({ name }: Part) => {
    if (name !== 'file' || isGiven) return 'Send exactly one file, in the field file.'
    isGiven = true
    return undefined
  }
  const form = await receiveForm(call.dependencies, call.reply, { terms, refuseFile })
  const addError = (message: string) => {
    form.errors = addErrors(form.errors, { file: [message] })
  }
  if ('file' in form.fields) addError('The file field must be sent as a file with a file name, not as text.')
  else if (!isGiven && !form.errors['file']) addError('The file field is required.')
  const { value: fields, errors = {} } = call.check(form)
  const [file] = form.files
  if (fields && file) return { ...file, fields }
  await discardFiles(call.dependencies, form.files)
  throw ServiceError.invalid(errors)
}

export const recordFile = <Fields>(
  call: Call<Fields>,
  { collection, formats }: { collection: 'attachments' | 'images'; formats: readonly string[] },
  record: (
    fields: Fields,
    file: ReturnType<typeof storedFile>,
    idempotency: Idempotency | undefined,
  ) => Promise<Saved>,
): Promise<Uint8Array> =>
  recordUpload(call, async (terms) => {
    const { fields, ...file } = await receiveFile(call, { collection, formats: formats.join(), ...terms })
    const { fileName, upload } = file
    const content = { ...fields, file_name: fileName, file: upload.sha256 }
    return { upload, content, record: (idempotency) => record(fields, storedFile(file), idempotency) }
  })
