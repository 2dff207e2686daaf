import { type components, createLeadwire, type Leadwire, LeadwireProblem } from '@leadwire/client'
import { computed } from '@preact/signals'
import { signOut, token } from './session'

export type Schemas = components['schemas']
export { LeadwireProblem as Problem }

// The parts of the console lie in a folder of it. Vite takes a literal `new URL(…, import.meta.url)` for a part.
const here = import.meta.url
const root = new URL('../..', here)

/** The path of the console, which the router puts before each of its own. */
export const consolePath = new URL('..', here).pathname.replace(/\/$/, '')

const send: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, cache: 'no-store', credentials: 'omit' })
  if (response.status === 401) signOut('The token is not valid: it is unknown, revoked or expired.')
  return response
}

// The reader tries again: no retries.
const clientOf = (timeoutMs?: number) =>
  computed(() =>
    createLeadwire({ baseUrl: root.href, token: token.value ?? '', fetch: send, retries: 0, timeoutMs }),
  )
const client = clientOf()
const patientClient = clientOf(0)

/** The typed API with the reader's token. Every operation throws Problem for an error response. */
export const api = () => client.value.api

/** The same without a time limit, for files. */
export const slowApi = () => patientClient.value.api

/** Operations on one lead, which check its reference first. */
export const leadsApi = (): Leadwire['leads'] => client.value.leads

/** The OpenAPI document, as far as the console reads it. */
export const loadDocument = async (): Promise<{
  components: {
    schemas: Record<
      string,
      { properties: Record<string, { description?: string; examples?: unknown[] }>; required: string[] }
    >
  }
}> => (await fetch(new URL('openapi.json', root))).json()

/** What the API answered. */
export const dataOf = async <Data>(answer: Promise<{ data?: Data }>): Promise<Data> =>
  (await answer).data as Data

export const asProblem = (error: unknown): LeadwireProblem =>
  error instanceof LeadwireProblem
    ? error
    : new LeadwireProblem(0, { title: 'The console failed', detail: String(error) })

/** A problem as a short message: the errors of the fields, else its message. */
export const sentenceOf = (problem: LeadwireProblem): string =>
  Object.values(problem.errors).flat().join(' ') || problem.message

/** For a list, which shows what is wrong with a filter at its field. */
export const invalidOnly = (error: unknown): LeadwireProblem => {
  if (error instanceof LeadwireProblem && error.status === 422) return error
  throw error
}

export type Scope = 'manage' | 'leads:read'

// No operation shows a token's scopes, so each is tried with a cheap read.
const PROBES: Record<Scope, () => Promise<unknown>> = {
  manage: () => api().GET('/manage/account'),
  'leads:read': () => api().GET('/leads/statuses'),
}

/** The scopes of the reader's token. Throws what is no refusal. */
export const findScopes = async (): Promise<Set<Scope>> => {
  const has = async (scope: Scope) => {
    try {
      await PROBES[scope]()
      return [scope]
    } catch (error) {
      if (error instanceof LeadwireProblem && error.status === 403) return []
      throw error
    }
  }
  const found = await Promise.all((Object.keys(PROBES) as Scope[]).map(has))
  return new Set(found.flat())
}
