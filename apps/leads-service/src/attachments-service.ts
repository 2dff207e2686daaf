import type { AttachmentsServiceImplementation } from '@leadwire/contracts'
import { type Database, perCall } from '@leadwire/service-kit'
import { attachFile } from './attachments/attach-file'
import { retrieveAttachment } from './attachments/retrieve-attachment'
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
  attachFile: perCall(deps, attachFile),
  retrieveAttachment: perCall(deps, retrieveAttachment),
  createImage: perCall(deps, createImage),
})
