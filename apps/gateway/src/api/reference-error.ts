import { type CheckReferencesRequest, type CheckReferencesResponse, isEmail } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { addErrors, type FieldErrors } from '../validation/errors'
import { selectedIsInvalid } from '../validation/messages'
import type { Call } from './operation'

/** What an invalid request refers to. The values are unchecked. */
export interface References {
  leadReference?: string
  userId?: unknown
  userEmail?: unknown
  images?: { field: string; id: unknown }[]
}

const isId = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

const isEmailText = (value: unknown): value is string => typeof value === 'string' && isEmail(value)

const missingReferences = (references: References, found: CheckReferencesResponse): FieldErrors => {
  const missing = new Set(found.missingImageIds)
  const fields = [
    ...(found.userMissing ? [references.userId === undefined ? 'user_email' : 'user_id'] : []),
    ...(references.images ?? []).filter(({ id }) => missing.has(id as number)).map(({ field }) => field),
  ]
  return Object.fromEntries(fields.map((field) => [field, [selectedIsInvalid(field)]]))
}

/**
 * The error of a request with invalid fields. What they refer to is retrieved first: a missing lead is a 404 whatever else is wrong,
 * and an unknown user or image is listed with the other errors (design: Errors). A valid request needs no such call, because the
 * operation itself finds what is missing.
 */
export const referenceError = async (
  { accountId, clients, limits }: Pick<Call<unknown>, 'accountId' | 'clients' | 'limits'>,
  errors: FieldErrors,
  references: References,
): Promise<ServiceError> => {
  const request: CheckReferencesRequest = {
    accountId,
    leadReference: references.leadReference,
    userId: isId(references.userId) ? references.userId : undefined,
    userEmail: isEmailText(references.userEmail) ? references.userEmail : undefined,
    imageIds: [...new Set((references.images ?? []).map(({ id }) => id).filter(isId))],
  }
  const { leadReference, userId, userEmail, imageIds } = request
  const asked = [leadReference, userId, userEmail, ...imageIds].filter((reference) => reference !== undefined)
  if (asked.length === 0) return ServiceError.invalid(errors)
  const found = await clients.leads.checkReferences(request, limits)
  if (found.leadMissing) return new ServiceError('not_found', 'There is no such lead.')
  return ServiceError.invalid(addErrors(errors, missingReferences(references, found)))
}
