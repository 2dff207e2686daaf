import type { AttachmentsServiceImplementation } from '@leadwire/contracts'
import { type Database, perCall } from '@leadwire/service-kit'
import { createAttachment } from './attachments/create-attachment'
import { getAttachment } from './attachments/get-attachment'
import { claimKey, releaseKey } from './idempotency/idempotency-keys'
import { createImage } from './images/create-image'

/** The records of stored bytes, and the keys that are held while bytes are on their way. */
export const attachmentsService = (deps: {
  database: Database
  assetsUrl: string
}): AttachmentsServiceImplementation => ({
  claimIdempotencyKey: async (request) => {
    const claim = await deps.database.transaction((tx) => claimKey(tx, request))
    return 'saved' in claim
      ? { saved: claim.saved, claimId: '' }
      : { saved: undefined, claimId: claim.claimId }
  },
  releaseIdempotencyKey: async (request) => {
    await releaseKey(deps.database, request)
    return {}
  },
  createAttachment: perCall(deps, createAttachment),
  getAttachment: perCall(deps, getAttachment),
  createImage: perCall(deps, createImage),
})
