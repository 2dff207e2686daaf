import { api, readData, type Schemas } from '../api'
import { isErased, nameLead } from '../leads'

export type ManagedLead = Schemas['ManagedLeadListItem']
export type LeadPage = Schemas['ManagedLeadListItemPage']

/** Lists the leads that match the parameters, with customer, owner and next action. */
export const listManagedLeads = (
  parameters: Record<string, string>,
  signal?: AbortSignal,
): Promise<LeadPage> => {
  // The type is `object`, because the parameters come from the page's URL. The API rejects unknown ones.
  const query: object = parameters
  return readData(api().GET('/manage/leads', { params: { query }, signal }))
}

/** Returns the name of the customer, or a name for an erased lead. */
export const nameCustomer = (lead: ManagedLead): string =>
  isErased(lead) ? nameLead(lead) : lead.customer.name

/** Returns customer and job, which together tell leads apart. */
export const describeLead = (lead: ManagedLead): string =>
  isErased(lead) ? nameLead(lead) : `${lead.customer.name}, ${lead.name}`

type Change = Schemas['LeadBulkChange']
export type Outcome = Schemas['LeadBulkOutcome']

/** Changes several leads. Returns the outcome of each lead, in the order of the references. */
export const updateLeads = async (references: string[], set: Change): Promise<Outcome[]> =>
  (await readData(api().POST('/manage/leads/bulk', { body: { references, set } }))).data
