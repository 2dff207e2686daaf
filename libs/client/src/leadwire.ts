import createClient from 'openapi-fetch'
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
  RescheduleRequest,
  Scheduled,
  ScheduledRecord,
  ScheduleRequest,
  UpdateLeadRequest,
} from './types'
import { type FileToSend, randomId, uploadRequest } from './upload'

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

const keyed = ({ idempotencyKey = randomId(), ...call }: CreateOptions = {}) => ({
  params: { header: { 'Idempotency-Key': idempotencyKey } },
  ...call,
})

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

// Another text in place of a reference may make another address, such as /leads/statuses.
const leadReference = (reference: string): string => {
  if (UUID.test(reference)) return reference
  const detail = `The reference of a lead is a UUID, not ${JSON.stringify(reference)}.`
  throw new LeadwireProblem(404, { type: '#not-found', title: 'Not Found', detail })
}

const to = (reference: string) => ({ path: { reference: leadReference(reference) } })

// `send` throws for all else.
const dataOf = <Data>({ data }: { data?: { data: Data } }): Data => data!.data

// Its types for CommonJS, which is what those of this package are, are broken.
type Api = import('openapi-fetch', { with: { 'resolution-mode': 'import' }}).Client<paths>

/** A client of the API of one account. Every method throws LeadwireProblem for an error response. */
export const createLeadwire = (options: LeadwireOptions) => {
  const { token, retries = 3, timeoutMs = 20_000, fetch: given = fetch } = options
  const baseUrl = options.baseUrl.replace(/\/+$/, '')
  const headers = { authorization: `Bearer ${token}` }
  const terms = { fetch: given, retries }
  const api = createClient<paths>({
    baseUrl,
    headers,
    fetch: (request) => send(() => request.clone(), { ...terms, timeoutMs }),
  }) as unknown as Api

  const retrieve = (reference: string, call?: CallOptions) =>
    api.GET('/leads/{reference}', { params: to(reference), ...call })

  const schedule =
    (path: '/leads/{reference}/appointments' | '/leads/{reference}/callbacks') =>
    async (reference: string, body: ScheduleRequest, call?: CreateOptions): Promise<Scheduled> => {
      const { params, ...rest } = keyed(call)
      return dataOf(await api.POST(path, { body, params: { ...params, ...to(reference) }, ...rest }))
    }

  type EntryPath = '/leads/{reference}/appointments/{id}' | '/leads/{reference}/callbacks/{id}'

  const entry = (reference: string, id: number) => ({ path: { ...to(reference).path, id } })

  const reschedule =
    (path: EntryPath) =>
    async (
      reference: string,
      id: number,
      body: RescheduleRequest,
      call?: CallOptions,
    ): Promise<ScheduledRecord> =>
      dataOf(await api.PATCH(path, { params: entry(reference, id), body, ...call }))

  const cancel =
    (path: EntryPath) =>
    async (
      reference: string,
      id: number,
      { notify = false, ...call }: CallOptions & { notify?: boolean } = {},
    ): Promise<ScheduledRecord> =>
      dataOf(await api.DELETE(path, { params: { ...entry(reference, id), query: { notify } }, ...call }))

  const leads = {
    create: async (body: CreateLeadRequest, call?: CreateOptions): Promise<Lead> =>
      dataOf(await api.POST('/leads', { body, ...keyed(call) })),
    /** With quotes and items; needs the scope `manage`. */
    createVisitorLead: async (body: CreateVisitorLeadRequest, call?: CreateOptions): Promise<Lead> =>
      dataOf(await api.POST('/manage/leads', { body, ...keyed(call) })),
    retrieve: async (reference: string, call?: CallOptions): Promise<Lead> =>
      dataOf(await retrieve(reference, call)),
    /** The lead with the ETag that `update` takes as `ifMatch`. */
    retrieveWithEtag: async (
      reference: string,
      call?: CallOptions,
    ): Promise<{ lead: Lead; etag: string }> => {
      const answer = await retrieve(reference, call)
      return { lead: dataOf(answer), etag: answer.response.headers.get('etag')! }
    },
    /** Never sent again, because another change may have come between. */
    update: async (
      reference: string,
      body: UpdateLeadRequest,
      { ifMatch, ...call }: UpdateOptions = {},
    ): Promise<Lead> => {
      const params = { ...to(reference), ...(ifMatch && { header: { 'If-Match': ifMatch } }) }
      return dataOf(await api.PATCH('/leads/{reference}', { params, body, ...call }))
    },
    /** Every lead that matches the filters, by default newest first. Each comes once, even while leads are created. */
    list: async function* ({ filters, ...call }: ListOptions = {}): AsyncGenerator<LeadListItem, void> {
      for (let cursor: string | null | undefined = ''; typeof cursor === 'string'; ) {
        const query = { ...filters, per_page: 100, cursor }
        const step: { data: LeadListItem[]; next_cursor?: string | null } = (
          await api.GET('/leads', { params: { query }, ...call })
        ).data!
        yield* step.data
        cursor = step.next_cursor
      }
    },
    page: async (page: number, call?: CallOptions): Promise<LeadListItemPage> =>
      (await api.GET('/leads', { params: { query: { page } }, ...call })).data as LeadListItemPage,
    statuses: async (call?: CallOptions): Promise<Lead['status'][]> =>
      dataOf(await api.GET('/leads/statuses', { ...call })),
    scheduleAppointment: schedule('/leads/{reference}/appointments'),
    scheduleCallback: schedule('/leads/{reference}/callbacks'),
    /** Another date, another user, or both. */
    rescheduleAppointment: reschedule('/leads/{reference}/appointments/{id}'),
    rescheduleCallback: reschedule('/leads/{reference}/callbacks/{id}'),
    cancelAppointment: cancel('/leads/{reference}/appointments/{id}'),
    cancelCallback: cancel('/leads/{reference}/callbacks/{id}'),
    attach: async (
      reference: string,
      { name, ...file }: FileToSend & { name: string },
      { idempotencyKey = randomId(), signal }: CreateOptions = {},
    ): Promise<Image> => {
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
    /** The body of the response is the file. */
    download: async (reference: string, id: number, call?: CallOptions): Promise<Response> => {
      const path = { reference: leadReference(reference), id }
      const file = { params: { path }, parseAs: 'stream' as const, ...call }
      return (await api.GET('/leads/{reference}/attachments/{id}', file)).response
    },
  }
  return {
    leads,
    /** Every operation by its path, with the token and the retries of this client. */
    api,
  }
}

export type Leadwire = ReturnType<typeof createLeadwire>
