import createClient, { type Client } from 'openapi-fetch'
import type { paths } from './generated/schema'
import { LeadwireProblem } from './problem'
import { send } from './send'
import type {
  CreateLeadRequest,
  CreateVisitorLeadRequest,
  Image,
  Lead,
  LeadFilters,
  LeadListItem,
  LeadListItemPage,
  Scheduled,
  ScheduleRequest,
  UpdateLeadRequest,
} from './types'
import { type FileToSend, uploadRequest } from './upload'

export interface LeadwireOptions {
  /** The address of the API, such as `https://leads.example.com`. */
  baseUrl: string
  token: string
  /** How often a request that may be repeated is sent again. By default 3. */
  retries?: number
  /** How long each attempt waits for a response to begin, unless it sends a file. By default 20 seconds. */
  timeoutMs?: number
  fetch?: typeof fetch
}

export interface CallOptions {
  signal?: AbortSignal
}

interface CreateOptions extends CallOptions {
  /** By default a random one, so that the request may be repeated. Give your own to repeat it in another process. */
  idempotencyKey?: string
}

interface ListOptions extends CallOptions {
  filters?: LeadFilters
}

interface UpdateOptions extends CallOptions {
  /** The ETag that the lead must still have: otherwise nothing is changed, and the problem is `precondition-failed`. */
  ifMatch?: string
}

/** The API of one account. Every method throws LeadwireProblem for an error response. */
export interface Leadwire {
  leads: {
    create(lead: CreateLeadRequest, options?: CreateOptions): Promise<Lead>
    /** With quotes and items; needs the scope `manage`. */
    createVisitorLead(lead: CreateVisitorLeadRequest, options?: CreateOptions): Promise<Lead>
    retrieve(reference: string, options?: CallOptions): Promise<Lead>
    /** The lead with the ETag that `update` takes as `ifMatch`. */
    retrieveWithEtag(reference: string, options?: CallOptions): Promise<{ lead: Lead; etag: string }>
    /** Never sent again, because another change may have come between. */
    update(reference: string, change: UpdateLeadRequest, options?: UpdateOptions): Promise<Lead>
    /** Every lead that matches the filters, by default newest first. Each comes once, even while leads are created. */
    list(options?: ListOptions): AsyncGenerator<LeadListItem, void>
    page(page: number, options?: CallOptions): Promise<LeadListItemPage>
    statuses(options?: CallOptions): Promise<Lead['status'][]>
    scheduleAppointment(
      reference: string,
      entry: ScheduleRequest,
      options?: CreateOptions,
    ): Promise<Scheduled>
    scheduleCallback(reference: string, entry: ScheduleRequest, options?: CreateOptions): Promise<Scheduled>
    attach(reference: string, file: FileToSend & { name: string }, options?: CreateOptions): Promise<Image>
    /** The body of the response is the file. */
    download(reference: string, attachmentId: number, options?: CallOptions): Promise<Response>
  }
  /** Every operation by its path, with the token and the retries of this client. */
  api: Client<paths>
}

const keyed = ({ idempotencyKey = crypto.randomUUID(), signal }: CreateOptions = {}) => ({
  params: { header: { 'Idempotency-Key': idempotencyKey } },
  ...(signal && { signal }),
})

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

// Another text in place of a reference may make another address, such as /leads/statuses.
const leadReference = (reference: string): string => {
  if (UUID.test(reference)) return reference
  const detail = `The reference of a lead is a UUID, not ${JSON.stringify(reference)}.`
  throw new LeadwireProblem(404, { type: '#not-found', title: 'Not Found', detail })
}

// `send` throws for all else.
const dataOf = <Data>({ data }: { data?: { data: Data } }): Data => data!.data

async function* leadsFrom(
  stepFrom: (cursor: string) => Promise<Pick<LeadListItemPage, 'data' | 'next_cursor'>>,
): AsyncGenerator<LeadListItem, void> {
  for (let cursor: string | null | undefined = ''; typeof cursor === 'string'; ) {
    const step = await stepFrom(cursor)
    yield* step.data
    cursor = step.next_cursor
  }
}

/** A client of the API. */
export const createLeadwire = (options: LeadwireOptions): Leadwire => {
  const { token, retries = 3, timeoutMs = 20_000, fetch: given = fetch } = options
  const baseUrl = options.baseUrl.replace(/\/+$/, '')
  const headers = { authorization: `Bearer ${token}` }
  const terms = { fetch: given, retries }
  const api = createClient<paths>({
    baseUrl,
    headers,
    fetch: (request) => send(() => request.clone(), { ...terms, timeoutMs }),
  })
  const to = (reference: string) => ({ path: { reference: leadReference(reference) } })
  // Without a cursor a response has all fields of a page.
  const pageOf = async (page: number, call: CallOptions = {}) =>
    (await api.GET('/leads', { params: { query: { page } }, ...call })).data as LeadListItemPage
  const list = ({ filters, ...call }: ListOptions = {}) =>
    leadsFrom(async (cursor) => {
      const query = { ...filters, per_page: 100, cursor }
      return (await api.GET('/leads', { params: { query }, ...call })).data!
    })

  const leads: Leadwire['leads'] = {
    create: async (body, call) => dataOf(await api.POST('/leads', { body, ...keyed(call) })),
    createVisitorLead: async (body, call) =>
      dataOf(await api.POST('/manage/leads', { body, ...keyed(call) })),
    retrieve: async (reference, call) =>
      dataOf(await api.GET('/leads/{reference}', { params: to(reference), ...call })),
    retrieveWithEtag: async (reference, call) => {
      const answer = await api.GET('/leads/{reference}', { params: to(reference), ...call })
      return { lead: dataOf(answer), etag: answer.response.headers.get('etag')! }
    },
    update: async (reference, body, { ifMatch, signal } = {}) =>
      dataOf(
        await api.PATCH('/leads/{reference}', {
          params: { ...to(reference), ...(ifMatch && { header: { 'If-Match': ifMatch } }) },
          body,
          ...(signal && { signal }),
        }),
      ),
    list,
    page: pageOf,
    statuses: async (call) => dataOf(await api.GET('/leads/statuses', { ...call })),
    scheduleAppointment: async (reference, body, call) => {
      const { params, ...rest } = keyed(call)
      const path = '/leads/{reference}/appointments'
      return dataOf(await api.POST(path, { body, params: { ...params, ...to(reference) }, ...rest }))
    },
    scheduleCallback: async (reference, body, call) => {
      const { params, ...rest } = keyed(call)
      const path = '/leads/{reference}/callbacks'
      return dataOf(await api.POST(path, { body, params: { ...params, ...to(reference) }, ...rest }))
    },
    attach: async (reference, { name, ...file }, { idempotencyKey = crypto.randomUUID(), signal } = {}) => {
      const upload = {
        ...file,
        url: `${baseUrl}/leads/${leadReference(reference)}/attachments`,
        headers: { ...headers, 'idempotency-key': idempotencyKey },
        fields: { name },
        signal,
      }
      const once = file.content instanceof Blob ? terms : { ...terms, retries: 0 }
      const response = await send(() => uploadRequest(upload), once)
      return ((await response.json()) as { data: Image }).data
    },
    download: async (reference, id, call) =>
      (
        await api.GET('/leads/{reference}/attachments/{id}', {
          params: { path: { reference: leadReference(reference), id } },
          parseAs: 'stream',
          ...call,
        })
      ).response,
  }
  return { leads, api }
}
