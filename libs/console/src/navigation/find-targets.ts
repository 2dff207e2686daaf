import { api, leadsApi, Problem, readData } from '../api'
import { type Endpoint, nameEndpoint } from '../endpoints'
import { nameLead } from '../leads'
import type { NavPage } from './list-nav-pages'

/** A page or a record to jump to. */
export interface Target {
  path: string
  name: string
  /** Distinguishes the target from others of the same name. */
  detail?: string
  /** A reference or a URL. */
  code?: string
}

/** At most this many leads and endpoints are listed. A more exact text finds the others. */
const MOST = 8

const REFERENCE = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i

const includes = (text: string, part: string) => text.toLowerCase().includes(part.toLowerCase())

/** Returns whether the name or the detail of a target contains the text. */
export const matches = ({ name, detail = '' }: Target, text: string): boolean =>
  includes(`${name} ${detail}`, text)

/** Returns the pages whose names contain the text. */
export const findPages = (pages: NavPage[], text: string): Target[] =>
  pages
    .filter(({ nav }) => includes(nav.name, text))
    .map(({ path, nav }) => ({ path, name: nav.name, detail: nav.group }))

/** Returns the endpoints whose names or URLs contain the text. */
export const findEndpoints = (endpoints: Endpoint[], text: string): Target[] =>
  endpoints
    .filter(({ description, url }) => includes(description ?? '', text) || includes(url, text))
    .slice(0, MOST)
    .map((endpoint) => ({
      path: `/endpoints/${endpoint.id}`,
      name: nameEndpoint(endpoint),
      code: endpoint.description ? endpoint.url : undefined,
    }))

interface FoundLead {
  reference: string
  name: string
  customer: { name: string }
}

const describeLead = (lead: FoundLead): Target => ({
  path: `/leads/${lead.reference}`,
  // An erased lead has no customer.
  name: lead.customer.name.trim() || nameLead(lead),
  detail: lead.customer.name.trim() ? nameLead(lead) : undefined,
  code: lead.reference.slice(0, 8),
})

const retrieveIfFound = async (reference: string, signal: AbortSignal): Promise<FoundLead[]> => {
  try {
    return [await leadsApi().retrieve(reference, { signal })]
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return []
    throw error
  }
}

/** Finds the lead that has the text as its reference, or else the newest leads that match the text. */
export const findLeads = async (text: string, signal: AbortSignal): Promise<Target[]> => {
  if (REFERENCE.test(text)) return (await retrieveIfFound(text.toLowerCase(), signal)).map(describeLead)
  // The API refuses such a text.
  if (!/[\p{L}\p{N}]/u.test(text)) return []
  // With a cursor the API does not count the leads, which would be slow.
  const query = { q: text, per_page: MOST, cursor: '' }
  return (await readData(api().GET('/manage/leads', { params: { query }, signal }))).data.map(describeLead)
}
