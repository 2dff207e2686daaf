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
import { createUploadRequest, type FileToSend, randomId } from './upload'

export interface LeadwireOptions {
  /** The base URL of the API, such as `https://leads.example.com`. */
  baseUrl: string
  token: string
  /** The maximum number of retries of a request that is safe to repeat. Default: 3. */
  retries?: number
  /**
   * The time limit for a response to start, in milliseconds. Does not apply to sending a file. Default:
   * 20,000.
   */
  timeoutMs?: number
  fetch?: typeof fetch
}

export interface CallOptions {
  signal?: AbortSignal
}

interface CreateOptions extends CallOptions {
  /**
   * The key that makes retries safe. Default: a random key. Set your own key to be able to repeat the request
   * in another process.
   */
  idempotencyKey?: string
}

interface ListOptions extends CallOptions {
  filters?: LeadFilters
}

interface UpdateOptions extends CallOptions {
  /**
   * Updates the lead only if this is its current ETag. Otherwise throws a problem of kind
   * `precondition-failed`.
   */
  ifMatch?: string
}

const addKey = ({ idempotencyKey = randomId(), ...call }: CreateOptions = {}) => ({
  params: { header: { 'Idempotency-Key': idempotencyKey } },
  ...call,
})

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

// Rejects a reference that is not a UUID. In a path, such a text could name another resource, such as
// /leads/statuses.
const checkReference = (reference: string): string => {
  if (UUID.test(reference)) return reference
  const detail = `A lead reference must be a UUID, not ${JSON.stringify(reference)}.`
  throw new LeadwireProblem(404, { type: '#not-found', title: 'Not Found', detail })
}

const leadPath = (reference: string) => ({ path: { reference: checkReference(reference) } })

// Assumes a success, because `send` throws for any other response.
const readData = <Data>({ data }: { data?: { data: Data } }): Data => data!.data

// Imports the types of openapi-fetch for ES modules, because its types for CommonJS are broken.
type Api = import('openapi-fetch', { with: { 'resolution-mode': 'import' }}).Client<paths>

/** Creates a client with a token. Every method throws LeadwireProblem for an error response. */
export const createLeadwire = (options: LeadwireOptions) => {
  const { token, retries = 3, timeoutMs = 20_000, fetch: customFetch = fetch } = options
  const baseUrl = options.baseUrl.replace(/\/+$/, '')
  const headers = { authorization: `Bearer ${token}` }
  const sendOptions = { fetch: customFetch, retries }
  const api = createClient<paths>({
    baseUrl,
    headers,
    fetch: (request) => send(() => request.clone(), { ...sendOptions, timeoutMs }),
  }) as unknown as Api

  const retrieve = (reference: string, call?: CallOptions) =>
    api.GET('/leads/{reference}', { params: leadPath(reference), ...call })

  const schedule =
    (path: '/leads/{reference}/appointments' | '/leads/{reference}/callbacks') =>
    async (reference: string, body: ScheduleRequest, call?: CreateOptions): Promise<Scheduled> => {
      const { params, ...rest } = addKey(call)
      return readData(await api.POST(path, { body, params: { ...params, ...leadPath(reference) }, ...rest }))
    }

  type EntryPath = '/leads/{reference}/appointments/{id}' | '/leads/{reference}/callbacks/{id}'

  const entry = (reference: string, id: number) => ({ path: { ...leadPath(reference).path, id } })

  const reschedule =
    (path: EntryPath) =>
    async (
      reference: string,
      id: number,
      body: RescheduleRequest,
      call?: CallOptions,
    ): Promise<ScheduledRecord> =>
      readData(await api.PATCH(path, { params: entry(reference, id), body, ...call }))

  const cancel =
    (path: EntryPath) =>
    async (
      reference: string,
      id: number,
      { notify = false, ...call }: CallOptions & { notify?: boolean } = {},
    ): Promise<ScheduledRecord> =>
      readData(await api.DELETE(path, { params: { ...entry(reference, id), query: { notify } }, ...call }))

  const leads = {
    create: async (body: CreateLeadRequest, call?: CreateOptions): Promise<Lead> =>
      readData(await api.POST('/leads', { body, ...addKey(call) })),
    /** Creates a lead with quotes and items. Needs the scope `manage`. */
    createVisitorLead: async (body: CreateVisitorLeadRequest, call?: CreateOptions): Promise<Lead> =>
      readData(await api.POST('/manage/leads', { body, ...addKey(call) })),
    retrieve: async (reference: string, call?: CallOptions): Promise<Lead> =>
      readData(await retrieve(reference, call)),
    /** Retrieves a lead with its ETag, for the `ifMatch` of `update`. */
    retrieveWithEtag: async (
      reference: string,
      call?: CallOptions,
    ): Promise<{ lead: Lead; etag: string }> => {
      const retrieved = await retrieve(reference, call)
      return { lead: readData(retrieved), etag: retrieved.response.headers.get('etag')! }
    },
    /**
     * Updates a lead. Never retries, because a retry could overwrite a change that was made after the first
     * attempt.
     */
    update: async (
      reference: string,
      body: UpdateLeadRequest,
      { ifMatch, ...call }: UpdateOptions = {},
    ): Promise<Lead> => {
      const params = { ...leadPath(reference), ...(ifMatch && { header: { 'If-Match': ifMatch } }) }
      return readData(await api.PATCH('/leads/{reference}', { params, body, ...call }))
    },
    /**
     * Iterates over the leads that match the filters, newest first by default. Yields no lead twice, even if
     * other leads are created meanwhile.
     */
    list: async function* ({ filters, ...call }: ListOptions = {}): AsyncGenerator<LeadListItem, void> {
      let cursor: string | null | undefined = ''
      while (typeof cursor === 'string') {
        const query = { ...filters, per_page: 100, cursor }
        const page: { data: LeadListItem[]; next_cursor?: string | null } = (
          await api.GET('/leads', { params: { query }, ...call })
        ).data!
        yield* page.data
        cursor = page.next_cursor
      }
    },
    page: async (page: number, call?: CallOptions): Promise<LeadListItemPage> =>
      (await api.GET('/leads', { params: { query: { page } }, ...call })).data as LeadListItemPage,
    statuses: async (call?: CallOptions): Promise<Lead['status'][]> =>
      readData(await api.GET('/leads/statuses', { ...call })),
    scheduleAppointment: schedule('/leads/{reference}/appointments'),
    scheduleCallback: schedule('/leads/{reference}/callbacks'),
    /** Changes the date, the user, or both. */
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
        url: `${baseUrl}/leads/${checkReference(reference)}/attachments`,
        headers: { ...headers, 'idempotency-key': idempotencyKey },
        fields: { name },
        signal,
      }
      // A stream can be read only once, so a request with a stream is never retried.
      const isRepeatable = file.content instanceof Blob
      const uploadOptions = isRepeatable ? sendOptions : { ...sendOptions, retries: 0 }
      const response = await send(() => createUploadRequest(upload), uploadOptions)
      return ((await response.json()) as { data: Image }).data
    },
    /** Downloads a file as the body of the returned response. */
    download: async (reference: string, id: number, call?: CallOptions): Promise<Response> => {
      const path = { reference: checkReference(reference), id }
      const file = { params: { path }, parseAs: 'stream' as const, ...call }
      return (await api.GET('/leads/{reference}/attachments/{id}', file)).response
    },
  }
  return {
    leads,
    /** Calls any operation of the API by its path, with the token and the retries of this client. */
    api,
  }
}

export type Leadwire = ReturnType<typeof createLeadwire>
