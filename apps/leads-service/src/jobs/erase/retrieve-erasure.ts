import type { RetrieveErasureRequest, RetrieveErasureResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { isId, isUuid, validate } from '../../arguments'
import { receiptOf } from './erasure'

/** The receipt of a lead's erasure. Throws not_found, also for a lead whose erasure was never requested. */
export const retrieveErasure =
  (deps: { database: Database; backupRetentionDays: number | undefined }) =>
  async (request: RetrieveErasureRequest): Promise<RetrieveErasureResponse> => {
    validate({ account_id: isId(request.accountId) })
    const { database, backupRetentionDays } = deps
    const body = isUuid(request.reference)
      ? await receiptOf(database, request, backupRetentionDays)
      : undefined
    if (!body) throw new ServiceError('not_found', 'There is no erasure of a lead with this reference.')
    return { body }
  }
