import type { ClaimIdempotencyKeyResponse, Idempotency } from '@leadwire/contracts'
import { idempotencyKey, replayable, requestFingerprints } from '../api/idempotency'
import type { Call } from '../api/operation'
import { holdKey, savedAnswer } from './hold-key'
import { keepStoredFile } from './keep-stored-file'
import { receiveFile } from './receive-file'

interface Recording<Fields> {
  collection: 'attachments' | 'images'
  formats: readonly string[]
  /** Makes the record of the stored file, and saves its answer under the request's key. */
  record: (received: {
    fields: Fields
    file: { fileName: string; fileSize: number; contentType: string; key: string }
    idempotency: Idempotency | undefined
    claimId: string
  }) => Promise<{ body: Uint8Array; replayed?: boolean | undefined }>
}

const recordFile = async <Fields>(
  call: Call<Fields>,
  { collection, formats, record }: Recording<Fields>,
  claimed?: { key: string; claim: ClaimIdempotencyKeyResponse },
) => {
  const { request, reply } = call
  const { tokenId } = request.principal
  const { fields, fileName, upload } = await receiveFile(call, {
    collection,
    formats: formats.join(),
    keep: !claimed?.claim.saved,
    // For the request's fingerprint.
    sha256: claimed !== undefined,
  })
  const fingerprints = requestFingerprints(request, { ...fields, file_name: fileName, file: upload.sha256 })
  const replay = claimed && savedAnswer(claimed.claim, fingerprints)
  if (replay) return replayable(reply, { body: replay, replayed: true })
  const { key, size: fileSize, content_type: contentType } = upload
  const answer = await keepStoredFile(call, key, () =>
    record({
      fields,
      file: { fileName, fileSize, contentType, key },
      idempotency: claimed && { tokenId, key: claimed.key, ...fingerprints },
      claimId: claimed?.claim.claimId ?? '',
    }),
  )
  return replayable(reply, answer)
}

/**
 * Receives the request's file and records it; once under each Idempotency-Key, which is held while the bytes are on their way.
 * Resolves with the JSON of the answer.
 */
export const recordFileOnce = <Fields>(
  call: Call<Fields>,
  recording: Recording<Fields>,
): Promise<Uint8Array> => {
  const key = idempotencyKey(call.request)
  if (key === undefined) return recordFile(call, recording)
  const { tokenId } = call.request.principal
  return holdKey(call, { tokenId, key }, (claim) => recordFile(call, recording, { key, claim }))
}
