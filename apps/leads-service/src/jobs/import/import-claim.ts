import type { ImportClaim } from '@leadwire/contracts'
import { isId, isUuid } from '../../arguments'

export const isClaim = (claim: ImportClaim | undefined): boolean =>
  claim !== undefined && isId(claim.accountId) && isId(claim.importId) && isUuid(claim.claimId)
