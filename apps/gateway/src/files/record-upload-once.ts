import type { ClaimIdempotencyKeyResponse, Idempotency, UploadedFile } from '@leadwire/contracts'
import { idempotencyKey, replayable, requestFingerprint } from '../api/idempotency'
import type { Call } from '../api/operation'
import { holdKey, savedResponse } from './hold-key'
import { keepStoredFile } from './keep-stored-file'
import { type ReceivedFile, receiveFile } from './receive-file'

interface Saved {
  body: Uint8Array
  replayed?: boolean | undefined
}

/** Under which key the service saves the response with the record. */
interface SaveUnder {
  idempotency: Idempotency | undefined
  claimId: string
}

interface Recording<Received> {
  /** Streams the request's file to files-service. With `keep` false it is only checked. */
  receive: (terms: { keep: boolean; sha256: boolean }) => Promise<Received>
  /** What makes the request another one, beside its address. */
  contentOf: (received: Received) => object
  /** Makes the record of the stored file. */
  record: (received: Received, saveUnder: SaveUnder) => Promise<Saved>
}

const recordUpload = async <Received extends { upload: UploadedFile }>(
  call: Call<unknown>,
  { receive, contentOf, record }: Recording<Received>,
  claimed?: { key: string; claim: ClaimIdempotencyKeyResponse },
) => {
  const { request, reply } = call
  const received = await receive({ keep: !claimed?.claim.saved, sha256: claimed !== undefined })
  const fingerprint = requestFingerprint(request, contentOf(received))
  const saved = claimed && savedResponse(claimed.claim, fingerprint)
  if (saved) return replayable(reply, { body: saved, replayed: true })
  const idempotency = claimed && { tokenId: request.principal.tokenId, key: claimed.key, fingerprint }
  const claimId = claimed?.claim.claimId ?? ''
  return replayable(
    reply,
    await keepStoredFile(call, received.upload.key, () => record(received, { idempotency, claimId })),
  )
}

/**
 * Receives the request's file and records it, once under each Idempotency-Key, which is held while the bytes arrive. Resolves to the
 * JSON of the response.
 */
export const recordUploadOnce = <Received extends { upload: UploadedFile }>(
  call: Call<unknown>,
  recording: Recording<Received>,
): Promise<Uint8Array> => {
  const key = idempotencyKey(call.request)
  if (key === undefined) return recordUpload(call, recording)
  const { tokenId } = call.request.principal
  return holdKey(call, { tokenId, key }, (claim) => recordUpload(call, recording, { key, claim }))
}

/** Receives and records the file of a form. */
export const recordFileOnce = <Fields>(
  call: Call<Fields>,
  {
    collection,
    formats,
    record,
  }: {
    collection: 'attachments' | 'images'
    formats: readonly string[]
    record: (
      fields: Fields,
      file: { fileName: string; fileSize: number; contentType: string; key: string },
      saveUnder: SaveUnder,
    ) => Promise<Saved>
  },
): Promise<Uint8Array> =>
  recordUploadOnce<ReceivedFile<Fields>>(call, {
    receive: (terms) => receiveFile(call, { collection, formats: formats.join(), ...terms }),
    contentOf: ({ fields, fileName, upload }) => ({ ...fields, file_name: fileName, file: upload.sha256 }),
    record: ({ fields, fileName, upload: { key, size: fileSize, content_type: contentType } }, saveUnder) =>
      record(fields, { fileName, fileSize, contentType, key }, saveUnder),
  })
