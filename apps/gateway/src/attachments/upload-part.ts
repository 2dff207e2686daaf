import type { UploadRequest, UploadResponse, UploadStart } from '@leadwire/contracts'
import type { Clients } from '../clients'

// An upload is as slow as its client.
const DEADLINE_MS = 5 * 60_000

export interface PendingUpload {
  /** Says whether the file is wanted, and waits for files-service's judgement of it. */
  finish(keep: boolean): Promise<UploadResponse>
  /** Ends the upload so that nothing is left of it. */
  cancel(): void
}

/**
 * Streams a file part to files-service, no faster than it takes it. Resolves when the part was read to its end: what
 * comes after it in the form may still decide whether it is kept. Rejects as soon as the call fails, too_large above
 * all, and when the part breaks off.
 */
export const uploadPart = async (
  files: Clients['files'],
  bytes: AsyncIterable<Buffer>,
  start: UploadStart,
): Promise<PendingUpload> => {
  const call = new AbortController()
  let decide: (keep: boolean) => void = () => undefined
  const decision = new Promise<boolean>((resolve) => {
    decide = resolve
  })
  let wasRead: () => void = () => undefined
  const readToEnd = new Promise<void>((resolve) => {
    wasRead = resolve
  })
  async function* messages(): AsyncGenerator<UploadRequest> {
    yield { part: { $case: 'start', value: start } }
    for await (const chunk of bytes) yield { part: { $case: 'chunk', value: chunk } }
    wasRead()
    yield { part: { $case: 'finish', value: { keep: await decision } } }
  }
  const response = files.upload(messages(), { deadline: DEADLINE_MS, signal: call.signal })
  // It may fail while the rest of the form is being read; whoever finishes hears of it.
  response.catch(() => undefined)
  await Promise.race([readToEnd, response])
  return {
    finish: (keep) => {
      decide(keep)
      return response
    },
    cancel: () => call.abort(),
  }
}
