import type { RetrieveAccountDeletionRequest, RetrieveAccountDeletionResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { isId, validate } from '../../arguments'
import { deletionOf } from './account-deletion'

/** How the deletion of an account fares, also when the account is gone. Throws not_found. */
export const retrieveAccountDeletion =
  (deps: { database: Database }) =>
  async ({ accountId }: RetrieveAccountDeletionRequest): Promise<RetrieveAccountDeletionResponse> => {
    validate({ account_id: isId(accountId) })
    const deletion = await deletionOf(deps.database, accountId)
    if (!deletion) throw new ServiceError('not_found', 'The deletion of this account was never requested.')
    return { deletion }
  }
