import { type CheckReferencesRequest, isEmail } from '@leadwire/contracts'
import { type FieldErrors, ServiceError } from '@leadwire/service-kit'
import { selectedIsInvalid } from '../validation/messages'
import type { Call } from './operation'

/** What an invalid request refers to. The values are unchecked. */
interface References {
  leadReference?: string
  userId?: unknown
  userEmail?: unknown
  images?: { field: string; id: unknown }[]
}

const isId = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

const isEmailText = (value: unknown): value is string => typeof value === 'string' && isEmail(value)

/**
 * The errors of an invalid request's references, to be listed with its other errors (design: Errors). Throws not_found for a missing
 * lead. A valid request needs no such call, because the operation itself finds what is missing.
 */
export const referenceErrors = async (
  { accountId, clients, limits }: Pick<Call<unknown>, 'accountId' | 'clients' | 'limits'>,
  { leadReference, userId, userEmail, images = [] }: References,
): Promise<FieldErrors> => {
  const request: CheckReferencesRequest = {
    accountId,
    leadReference,
    userId: isId(userId) ? userId : undefined,
    userEmail: isEmailText(userEmail) ? userEmail : undefined,
    imageIds: [...new Set(images.map(({ id }) => id).filter(isId))],
  }
  const { accountId: _, imageIds, ...others } = request
  if ([...Object.values(others), ...imageIds].every((reference) => reference === undefined)) return {}
  const found = await clients.leads.checkReferences(request, limits)
  if (found.leadMissing) throw new ServiceError('not_found', 'There is no such lead.')
  const fields = [
    ...(found.userMissing ? [userId === undefined ? 'user_email' : 'user_id'] : []),
    ...images.filter(({ id }) => found.missingImageIds.includes(id as number)).map(({ field }) => field),
  ]
  return Object.fromEntries(fields.map((field) => [field, [selectedIsInvalid(field)]]))
}
