import type { CreateLead, UpdateLeadsInBulkRequest, UpdateLeadsInBulkResponse } from '@leadwire/contracts'
import { type FieldErrors, ServiceError } from '@leadwire/service-kit'
import type { Dependencies } from '../../operation'
import type { OutboxEvent } from '../../outbox/record-events'
import { loadReferences } from './refuse-leads'
import { changeLeadByReference } from './update-managed-lead'
import type { WriteLeadsDeps } from './write-new-leads'

type BulkOutcome = { reference: string; updated: boolean } | { reference: string; errors: FieldErrors }

/** Names the fields of a lead as the request does, whose member `set` has the fields. */
const nameInRequest = (errors: FieldErrors): FieldErrors =>
  Object.fromEntries(Object.entries(errors).map(([field, messages]) => [`set.${field}`, messages]))

/** Returns the errors of a lead that was not changed. Throws all other errors. */
const describeRefusal = (error: unknown): FieldErrors => {
  if (!(error instanceof ServiceError)) throw error
  const { code, detail, fieldErrors } = error
  if (code === 'invalid') return nameInRequest(fieldErrors ?? {})
  if (code === 'not_found' || code === 'lead_erased') return { reference: [detail] }
  throw error
}

const updateOne = async (deps: WriteLeadsDeps, item: CreateLead, reference: string): Promise<BulkOutcome> => {
  const events: OutboxEvent[] = []
  try {
    const updated = await deps.database.transaction((tx) =>
      changeLeadByReference(deps, tx, { item, reference, events }),
    )
    deps.onCommitted(events)
    return { reference, updated }
  } catch (error) {
    return { reference, errors: describeRefusal(error) }
  }
}

/**
 * Sets the given fields of leads, one lead after the other. Each lead has its own transaction, so a lead is
 * locked only during its own change, and other requests never wait for the whole bulk. If the request fails
 * in between, the client can repeat the request: a lead that has the values already does not change again.
 * Throws `invalid` if the user to assign does not exist or was removed.
 */
export const updateLeadsInBulk = async (
  deps: WriteLeadsDeps & Dependencies,
  request: UpdateLeadsInBulkRequest,
): Promise<UpdateLeadsInBulkResponse> => {
  const { accountId, references, lead, traceparent } = request
  const item: CreateLead = { accountId, lead, traceparent, idempotency: undefined, actor: deps.actor }
  const { listErrors } = await loadReferences(deps.database, [item], deps.assetsUrl)
  const errors = listErrors(item)
  if (Object.keys(errors).length > 0) throw ServiceError.invalid(nameInRequest(errors))
  const data: BulkOutcome[] = []
  for (const reference of references) data.push(await updateOne(deps, item, reference))
  return { body: Buffer.from(JSON.stringify({ data })) }
}
