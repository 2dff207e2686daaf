import { Readable } from 'node:stream'
import { isUuid, type PORTAL_LINK, type Scope, type SIGN_IN_LINK } from '@leadwire/contracts'
import type { Body, Checked, CreateCheck, ListErrors } from '@leadwire/requests'
import { type CallLimits, type Logger, ServiceError } from '@leadwire/service-kit'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  RouteOptions,
} from 'fastify'
import { type Admission, UNARY_CALL_COST } from '../admission/admission'
import type { CountRequest, RateLimits } from '../admission/rate-limits'
import { type Authenticate, type Recheck, seesEndpoint, type TokenVerifier } from '../auth/authenticate'
import type { Cookies } from '../auth/cookies'
import type { FindSender } from '../auth/own-pages'
import { countBodyBytes, readBody } from '../body/parse-body'
import { readQuery } from '../body/query'
import type { ReceiveUpload } from '../body/receive-upload'
import type { Clients } from '../clients/connect-clients'
import { createCallLimits, readIdempotency } from './call-limits'
import { type Description, describeOperation } from './describe-operation'
import { IdParams, LeadParams } from './schemas'

/** The dependencies of operations. */
export interface Dependencies {
  clients: Clients
  verifyToken: TokenVerifier
  wrongTokens: RateLimits['wrongTokens']
  authenticate: Authenticate
  recheck: Recheck
  countCapture: CountRequest
  /** Counts a request for a sign-in link. */
  countSignIn: CountRequest
  cookies: Cookies
  findSender: FindSender
  /** The text of the button for the identity provider. Undefined if there is no provider. */
  identityProviderName: string | undefined
  /** The maximum number of leads that a publishable token creates in a day. */
  captureDaily: number
  captureDailyBytes: number
  createCheck: CreateCheck
  admission: Admission
  receiveUpload: ReceiveUpload
  importMaxBytes: number
  /** Wakes the import worker of this process, so that the worker starts a new import at once. */
  wakeImports: () => void
  /** IP addresses and CIDR ranges that webhooks come from. */
  webhookSources: readonly string[]
  /**
   * The base URL of the API, without a trailing slash, for data that does not go only to the requester:
   * events, links and saved responses (`findConfiguredAddress`).
   */
  configuredAddress: string
  /**
   * Returns the base URL of the API, without a trailing slash, for a response that only its requester reads.
   */
  findAddress: (request: FastifyRequest) => string
  timeZone: string
  /** Aborts when a drain starts. All endless streams must then end. */
  draining: AbortSignal
  logger: Logger
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

type Result = Readable | Uint8Array | string | object | undefined

/** An authorised request, with everything that the handler needs to make the response. */
export interface Call<Fields> {
  dependencies: Dependencies
  clients: Dependencies['clients']
  request: FastifyRequest
  reply: FastifyReply
  accountId: number
  limits: CallLimits
  /**
   * Returns the parameter `id` of the path, or the parameter `name`. Throws `not_found` if the parameter is
   * not a positive integer.
   */
  pathId: (name?: string) => number
  /**
   * Returns the account and the reference of the lead in the path. The reference is in lower case. Throws
   * `not_found` if the reference is not a UUID.
   */
  leadKey: () => { accountId: number; reference: string }
  /** Verifies the token of a long request again. Rejects if the token is no longer valid. */
  recheck: () => Promise<void>
  /**
   * Checks the fields of `body`. By default, checks the query if the operation has a query, otherwise the
   * request body.
   */
  check: (body?: Body) => Checked<Fields>
  /**
   * Returns the checked fields. If any field is invalid, throws `invalid` with all errors. Before that, calls
   * `lookUp`, which throws `not_found` if the record in the path is unknown.
   */
  valid: (lookUp?: () => Promise<unknown>) => Promise<Fields>
}

/** The scopes of tokens, and those of links. */
type AnyScope = Scope | typeof PORTAL_LINK | typeof SIGN_IN_LINK

interface Operation<Schema extends TObject>
  extends Omit<Description, 'operationId' | 'scopes' | 'tag' | 'params' | 'query' | 'refusesQuery'> {
  /** For example `GET /leads/:reference`. */
  route: `${Method} /${string}`
  /** A token needs one of these scopes. Default: see `listScopes`. null: the operation needs no token. */
  scope?: AnyScope | readonly AnyScope[] | null
  /**
   * Whether a token that is restricted to one endpoint may call the operation. The default is true if the
   * path starts with `/manage/webhook-endpoints/:id`, otherwise false.
   */
  endpointTokens?: boolean
  /** The default is `Webhooks` for operations on endpoints and deliveries, otherwise `Management`. */
  tag?: string
  query?: Schema | TObject
  body?: Schema
  /** The default describes the parameter `:reference` or `:id` of the route. */
  params?: TObject
  /**
   * The schema that `check` uses. The default is the query, or else the body. Set this property to check
   * anything else, such as only the filters of a query, or the fields that are sent with a file.
   */
  checks?: Schema
  /** Lists the errors of fields that depend on each other. */
  listErrors?: ListErrors
  /** The maximum size of a body, in bytes. The default is 1 MiB. */
  bodyLimit?: number
  /**
   * Whether the service that makes the change also saves the response. The service gets the Idempotency-Key
   * from `limits`.
   */
  savesResponse?: boolean
  /** The cost of a request in the admission queue. Use BATCHED_CALL_COST if the call is sent in a batch. */
  callCost?: number
  /** Whether a request may wait for an event. Such a request bypasses the admission queue. */
  waits?: boolean
  /**
   * Resolves with the JSON of the response, with the bytes of a file, or with an object that becomes the
   * `data` of the response. If the handler resolves with undefined, the response has no body.
   */
  handler: (call: Call<Static<Schema>>) => Promise<Result>
}

/** The properties that the functions in list-operation.ts pass on to `operation`. */
export type About = Pick<
  Operation<TObject>,
  'route' | 'tag' | 'summary' | 'description' | 'scope' | 'endpointTokens'
>

// All operations without fields share this schema, so that Ajv compiles it only once.
const NOTHING = Type.Object({})

const pathId = (request: FastifyRequest, name = 'id'): number => {
  const { [name]: id = '' } = request.params as Record<string, string>
  const number = /^[1-9]\d{0,15}$/.test(id) ? Number(id) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new ServiceError('not_found', 'There is nothing with this id.')
  return number
}

const leadKey = ({ params, principal }: FastifyRequest) => {
  const { reference } = params as { reference: string }
  if (!isUuid(reference)) throw new ServiceError('not_found', 'There is no such lead.')
  return { accountId: principal.accountId, reference: reference.toLowerCase() }
}

const findParams = (url: string) => {
  if (url.includes(':reference')) return LeadParams
  return url.includes(':id') ? IdParams : undefined
}

const ENDPOINT = '/manage/webhook-endpoints/:id'

const isAboutWebhooks = (url: string) => /^\/manage\/(webhook-|deliveries)/.test(url)

const findTag = (url: string) => (isAboutWebhooks(url) ? 'Webhooks' : 'Management')

/**
 * Returns the default scopes of an operation. A token needs one of them:
 *
 * - Below /leads: `leads:read` for reads, `leads` for changes.
 * - Below /manage/leads: the same scope, or `manage:read` for reads and `manage` for changes.
 * - Operations on endpoints and deliveries: `webhooks`, or `manage:read` for reads and `manage` for changes.
 * - All other paths: `manage:read` for reads, `manage` for changes.
 */
const listScopes = (method: Method, url: string): Scope[] => {
  const isRead = method === 'GET'
  const leads = isRead ? 'leads:read' : 'leads'
  const manage = isRead ? 'manage:read' : 'manage'
  if (url.startsWith('/leads')) return [leads]
  if (url.startsWith('/manage/leads')) return [leads, manage]
  return isAboutWebhooks(url) ? ['webhooks', manage] : [manage]
}

/** Returns the accepted scopes. A token needs at least one. null: the operation needs no token. */
const findScopes = (
  scope: Operation<TObject>['scope'],
  method: Method,
  url: string,
): readonly string[] | null => {
  if (scope === undefined) return listScopes(method, url)
  return typeof scope === 'string' ? [scope] : scope
}

/**
 * Returns whether the requests of an operation wait in the admission queue. Requests that send or receive
 * files bypass the queue and have separate limits, because their time depends on the client.
 */
const isQueued = ({ answer, multipart, stream }: Pick<Description, 'answer' | 'multipart' | 'stream'>) =>
  !('types' in answer) && !multipart && !stream

/** Throws `invalid` if the request has any query parameter. */
const refuseParameters = (request: FastifyRequest): void => {
  const { errors } = readQuery(request, [])
  if (Object.keys(errors).length > 0) throw ServiceError.invalid(errors)
}

/** Returns the checked fields. Throws `invalid`, unless `lookUp` throws first. */
const requireValid = async <Fields>(
  { value, errors }: Checked<Fields>,
  lookUp: (() => Promise<unknown>) | undefined,
): Promise<Fields> => {
  if (!errors) return value
  await lookUp?.()
  throw ServiceError.invalid(errors)
}

/** Hides all other endpoints from a token that is restricted to one endpoint. */
const hideOtherEndpoints: onRequestHookHandler = (request, _reply, done) => {
  const { id } = request.params as { id: string }
  const isSeen = seesEndpoint(request.principal, Number(id))
  done(isSeen ? undefined : new ServiceError('not_found', 'There is no such webhook endpoint.'))
}

/**
 * Adds a route, and a route for HEAD. If the route sends a file, both routes have the same handler, because
 * Fastify's own HEAD handler would read the whole file and discard it.
 */
const addRoute = (app: FastifyInstance, route: RouteOptions, sendsFile: boolean): void => {
  app.route({ ...route, exposeHeadRoute: !sendsFile })
  if (sendsFile) app.route({ ...route, method: 'HEAD', schema: { hide: true } })
}

const send = (reply: FastifyReply, result: Result) => {
  if (result === undefined || result instanceof Readable) return reply.send(result)
  const isJson = typeof result === 'string' || result instanceof Uint8Array
  return reply
    .header('content-type', 'application/json; charset=utf-8')
    .send(isJson ? result : JSON.stringify({ data: result }))
}

/**
 * Adds an operation to the API and to the OpenAPI document. Generated clients name their method after the
 * `operationId`, which is the operation's name in build-gateway.ts.
 */
export type AddOperation = (app: FastifyInstance, dependencies: Dependencies, operationId: string) => void

/**
 * Makes an operation. A request passes these steps:
 *
 * 1. The token is verified (`authenticate`).
 * 2. The body is collected (`readBodies`).
 * 3. The request waits until it may begin (`admitRequest`).
 * 4. The body is parsed (`readBodies`).
 * 5. The handler runs.
 */
export const operation =
  <Schema extends TObject>({
    route,
    scope,
    endpointTokens,
    tag,
    checks,
    listErrors,
    bodyLimit = 1024 * 1024,
    savesResponse = false,
    callCost = UNARY_CALL_COST,
    waits = false,
    handler,
    ...description
  }: Operation<Schema>): AddOperation =>
  (app, dependencies, operationId) => {
    const { authenticate, recheck, admission, createCheck, clients } = dependencies
    const [method, url] = route.split(' ') as [Method, string]
    const scopes = findScopes(scope, method, url)
    const isOfEndpoint = url.startsWith(ENDPOINT)
    const access = scopes && { scopes, endpointTokens: endpointTokens ?? isOfEndpoint }
    const checkBody = createCheck(
      (checks ?? description.query ?? description.body ?? NOTHING) as Schema,
      listErrors,
    )
    const parameters = description.query && Object.keys(description.query['properties'])
    // The lead API ignores unknown query parameters.
    const refusesQuery = /^\/(manage|token|me|sessions|sign-in-links|sign-in-methods)\b/.test(url)
    const takesNoParameters = !parameters && refusesQuery
    const params = description.params ?? findParams(url)

    const onRequest: onRequestHookHandler[] = []
    if (access) onRequest.push(authenticate(access))
    if (isOfEndpoint) onRequest.push(hideOtherEndpoints)

    const admit = (request: FastifyRequest, reply: FastifyReply) =>
      admission.admitRequest(reply, { bodyBytes: countBodyBytes(request), callCost })

    const answer = async (request: FastifyRequest, reply: FastifyReply) => {
      if (takesNoParameters) refuseParameters(request)
      const idempotency = savesResponse ? readIdempotency(request, readBody(request).fields) : undefined
      const readFields = () => (parameters ? readQuery(request, parameters) : readBody(request))
      const check = (body = readFields()) => checkBody(body)
      // Lists each property by name, because V8 turns an object with a spread into a hash table. A spread
      // here and a getter in the limits raised the gateway's time for a read from 45 to 105 µs.
      const result = await handler({
        dependencies,
        clients,
        request,
        reply,
        accountId: request.principal?.accountId,
        limits: createCallLimits(reply, idempotency),
        pathId: (name) => pathId(request, name),
        leadKey: () => leadKey(request),
        recheck: async () => {
          if (access) await recheck(request, access)
        },
        check,
        valid: async (lookUp) => requireValid(check(), lookUp),
      })
      return send(reply, result)
    }

    const schema = describeOperation({
      operationId,
      tag: tag ?? findTag(url),
      idempotent: savesResponse,
      ...description,
      scopes,
      params,
      refusesQuery,
    })
    const preValidation = !waits && isQueued(description) ? [admit] : []
    const options = { bodyLimit, onRequest, preValidation, handler: answer }
    addRoute(app, { ...options, method, url, schema }, 'types' in description.answer)
  }
