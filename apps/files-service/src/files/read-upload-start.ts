import type { UploadRequest } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { type Format, isFormat } from '../formats/formats'
import { isCollection } from './object-key'

export interface UploadTerms {
  collection: string
  fileName: string
  accepted: Format[]
  maxBytes: number
  /** Whether the caller needs the SHA-256. */
  wantsSha256: boolean
}

/** The first message of an upload. Fails with bad_request when it is no start, or one that makes no sense. */
export const readUploadStart = (message: UploadRequest | undefined): UploadTerms => {
  if (message?.part?.$case !== 'start') {
    throw new ServiceError('bad_request', 'An upload begins with its start message.')
  }
  const { collection, fileName, formats, maxBytes, skipSha256 } = message.part.value
  if (!isCollection(collection)) {
    throw new ServiceError('bad_request', 'collection must be lower-case letters.')
  }
  const accepted = formats.filter(isFormat)
  if (accepted.length === 0 || accepted.length < formats.length) {
    throw new ServiceError('bad_request', 'formats must be known formats, at least one.')
  }
  if (maxBytes < 1) throw new ServiceError('bad_request', 'max_bytes must be at least 1.')
  return { collection, fileName, accepted, maxBytes, wantsSha256: !skipSha256 }
}
