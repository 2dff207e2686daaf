import type { ReleaseImportRequest, ReleaseImportResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { validate } from '../../arguments'
import { isClaim } from './import-claim'

const RELEASE = `
  UPDATE imports SET claim_id = NULL, claimed_until = clock_timestamp(), key = CASE WHEN $4 THEN NULL ELSE key END
  WHERE account_id = $1 AND id = $2 AND claim_id = $3`

/** Gives a claim back. Without its file an import is claimed no more. */
export const releaseImport =
  (deps: { database: Database }) =>
  async ({ claim, fileDeleted }: ReleaseImportRequest): Promise<ReleaseImportResponse> => {
    validate({ claim: isClaim(claim) })
    const { accountId, importId, claimId } = claim!
    await deps.database.query({ text: RELEASE, values: [accountId, importId, claimId, fileDeleted] })
    return {}
  }
