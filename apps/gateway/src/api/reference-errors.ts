import { isEmail } from '@leadwire/contracts'
import { type FieldErrors, ServiceError } from '@leadwire/service-kit'
import { selectedIsInvalid } from '../validation/messages'
import type { Call } from './operation'

/** What an invalid request refers to. The values are unchecked. */
interface References {
  userId?: unknown
  userEmail?: unknown
  images?: { field: string; id: unknown }[]
  /** Of the lead, out of the address. */
  entry?: { appointmentId?: number } | { callbackId?: number }
}

const isId = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

/** Errors of what an invalid request refers to, with its lead (design: Errors). Operations find those of a valid one. Throws not_found. */
export const referenceErrors = async (
  { request, leadKey, accountId, clients, limits }: Call<unknown>,
  { userId, userEmail, images = [], entry = {} }: References = {},
): Promise<FieldErrors> => {
  const asked = {
    leadReference: 'reference' in (request.params as object) ? leadKey().reference : undefined,
    userId: isId(userId) ? userId : undefined,
    userEmail: typeof userEmail === 'string' && isEmail(userEmail) ? userEmail : undefined,
  }
  const imageIds = [...new Set(images.map(({ id }) => id).filter(isId))]
  if ([...Object.values(asked), ...imageIds].every((reference) => reference === undefined)) return {}
  const found = await clients.leads.checkReferences({ accountId, ...asked, ...entry, imageIds }, limits)
  if (found.leadMissing) throw new ServiceError('not_found', 'There is no such lead.')
  if (found.entryMissing) throw new ServiceError('not_found', 'There is nothing with this id.')
  const fields = images
    .filter(({ id }) => found.missingImageIds.includes(id as number))
    .map(({ field }) => field)
  if (found.userMissing) fields.unshift(userId === undefined ? 'user_email' : 'user_id')
  return Object.fromEntries(fields.map((field) => [field, [selectedIsInvalid(field)]]))
}
