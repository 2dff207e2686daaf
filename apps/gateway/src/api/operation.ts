import { Readable } from 'node:stream'
import { isUuid, type PORTAL_LINK, type Scope } from '@leadwire/contracts'
import { type CallLimits, type FieldErrors, ServiceError } from '@leadwire/service-kit'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { seesEndpoint } from '../auth/authenticate'
import { bodyOf } from '../body/body'
import { queryOf } from '../body/query'
import type { Body, Checked } from '../validation/checker'
import { addErrors } from '../validation/errors'
import { limitsOf } from './call-limits'
import type { Dependencies } from './dependencies'
import { type Description, describeOperation, refusesQuery } from './describe-operation'
import { idempotencyOf } from './idempotency'
import { IdParams, LeadParams } from './schemas'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

type Result = Readable | Uint8Array | string | object | undefined

/** A request whose token has the operation's scope, and what its response is made with. */
export interface Call<Fields> {
  dependencies: Dependencies
  clients: Dependencies['clients']
  request: FastifyRequest
  reply: FastifyReply
  accountId: number
  limits: CallLimits
  /** The `id` of the address, or another. Throws not_found for what is no positive integer. */
  pathId: (name?: string) => number
  /** The lead of the address, its reference in lower case. Throws not_found for what is no UUID. */
  leadKey: () => { accountId: number; reference: string }
  /** For a request that takes long: rejects when its token, which was valid, no longer is. */
  recheck: () => Promise<void>
  /** Checks the request's query where the operation has one, else its body; or other fields of it. */
  check: (body?: Body) => Checked<Fields>
  /** The checked fields. Throws invalid with every error, those of `find` too. `find` throws not_found: a 404 comes first. */
  valid: (find?: (fields: Record<string, unknown>) => Promise<FieldErrors>) => Promise<Fields>
}

interface Operation<Schema extends TObject>
  extends Omit<Description, 'operationId' | 'scopes' | 'tag' | 'params' | 'query'> {
  /** Such as `GET /leads/:reference`. */
  route: `${Method} /${string}`
  /** The scopes of which a token needs one, by default those of `scopesOf`; null needs no token. */
  scope?: Scope | typeof PORTAL_LINK | readonly Scope[] | null
  /** Whether tokens of one endpoint may use it; by default they may below their `/manage/webhook-endpoints/:id`. */
  endpointTokens?: boolean
  /** By default `Webhooks` for what is about endpoints and deliveries, else `Management`. */
  tag?: string
  query?: Schema | TObject
  body?: Schema
  /** By default those that the route names, `:reference` or `:id`. */
  params?: TObject
  /** What `check` checks where that is neither the query nor the body: the filters of a query, the fields beside a file. */
  checks?: Schema
  /** The most bytes of a body. By default 1 MiB. */
  bodyLimit?: number
  /** The service that makes the change saves the response with it, under the Idempotency-Key that `limits` carry. */
  savesResponse?: boolean
  /** Whether its call of a service is batched with the calls of other requests. */
  isBatched?: boolean
  /** Whether a response may wait for an event: the request then takes no place among the others. */
  waits?: boolean
  /** Resolves with the JSON of the response, the bytes of a file, or what stands in `{"data": …}`; undefined: no body. */
  handler: (call: Call<Static<Schema>>) => Promise<Result>
}

/** What describes an operation whose handler is made elsewhere. */
export type About = Pick<
  Operation<TObject>,
  'route' | 'tag' | 'summary' | 'description' | 'scope' | 'endpointTokens'
>

// One for all operations with nothing to check: Ajv compiles a schema it knows no second time.
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

const paramsOf = (url: string) =>
  url.includes(':reference') ? LeadParams : url.includes(':id') ? IdParams : undefined

const ENDPOINT = '/manage/webhook-endpoints/:id'

const isAboutWebhooks = (url: string) => /^\/manage\/(webhook-|deliveries)/.test(url)

/** What only reads needs `leads:read` or `manage:read`, all else `leads` or `manage`; or `webhooks`, about endpoints and deliveries. */
const scopesOf = (method: Method, url: string): Scope[] => {
  const whole = url.startsWith('/leads') ? 'leads' : 'manage'
  const scope = method === 'GET' ? (`${whole}:read` as const) : whole
  return isAboutWebhooks(url) ? ['webhooks', scope] : [scope]
}

/** For a token of one endpoint there is no other. */
const findEndpoint: onRequestHookHandler = (request, _reply, done) => {
  const { id } = request.params as { id: string }
  const isSeen = seesEndpoint(request.principal, Number(id))
  done(isSeen ? undefined : new ServiceError('not_found', 'There is no such webhook endpoint.'))
}

const send = (reply: FastifyReply, result: Result) => {
  if (result === undefined || result instanceof Readable) return reply.send(result)
  const isJson = typeof result === 'string' || result instanceof Uint8Array
  return reply
    .header('content-type', 'application/json; charset=utf-8')
    .send(isJson ? result : JSON.stringify({ data: result }))
}

/**
 * Adds an operation to the API and to the OpenAPI document. Clients that are made of the document call it by its `operationId`: the name
 * under which it is listed in build-gateway.ts.
 */
export type AddOperation = (app: FastifyInstance, dependencies: Dependencies, operationId: string) => void

export const operation =
  <Schema extends TObject>({
    route,
    scope,
    endpointTokens,
    tag,
    checks,
    bodyLimit = 1024 * 1024,
    savesResponse = false,
    isBatched = false,
    waits = false,
    handler,
    ...description
  }: Operation<Schema>): AddOperation =>
  (app, dependencies, operationId) => {
    const { authenticate, recheck, limitRequests, createCheck, clients } = dependencies
    const [method, url] = route.split(' ') as [Method, string]
    const scopes = scope === undefined ? scopesOf(method, url) : typeof scope === 'string' ? [scope] : scope
    const isOfEndpoint = url.startsWith(ENDPOINT)
    const access = scopes && { scopes, endpointTokens: endpointTokens ?? isOfEndpoint }
    const sendsFile = 'types' in description.answer
    // Files take as long as their clients do, and have limits of their own.
    const isLimited = !sendsFile && !description.multipart && !description.stream && !waits
    const checkBody = createCheck((checks ?? description.query ?? description.body ?? NOTHING) as Schema)
    const parameters = description.query && Object.keys(description.query['properties'])
    const params = description.params ?? paramsOf(url)
    const options = {
      bodyLimit,
      onRequest: [
        ...(access ? [authenticate(access)] : []),
        ...(isOfEndpoint ? [findEndpoint] : []),
        ...(isLimited ? [limitRequests({ bodyLimit, isBatched })] : []),
      ],
      handler: async (request: FastifyRequest, reply: FastifyReply) => {
        // The interface ignores what it does not know.
        if (!parameters && refusesQuery(scopes)) {
          const { errors } = queryOf(request, [])
          if (Object.keys(errors).length > 0) throw ServiceError.invalid(errors)
        }
        const idempotency = savesResponse ? idempotencyOf(request, bodyOf(request).fields) : undefined
        const check = (body = parameters ? queryOf(request, parameters) : bodyOf(request)) => checkBody(body)
        // Each property by its name: V8 makes a hash table of what is spread. With that, and with a getter in the limits, the
        // gateway needed 105 instead of 45 us for a read.
        const result = await handler({
          dependencies,
          clients,
          request,
          reply,
          accountId: request.principal?.accountId,
          limits: limitsOf(reply, idempotency),
          pathId: (name) => pathId(request, name),
          leadKey: () => leadKey(request),
          recheck: async () => {
            if (access) await recheck(request, access)
          },
          check,
          valid: async (find) => {
            const { value, errors, fields } = check()
            if (!errors) return value
            throw ServiceError.invalid(find ? addErrors(errors, await find(fields)) : errors)
          },
        })
        return send(reply, result)
      },
    }
    const schema = describeOperation({
      operationId,
      tag: tag ?? (isAboutWebhooks(url) ? 'Webhooks' : 'Management'),
      idempotent: savesResponse,
      ...description,
      ...{ scopes, params },
    })
    app.route({ ...options, method, url, schema, exposeHeadRoute: !sendsFile })
    // Fastify's own HEAD would read the file to its end and throw it away.
    if (sendsFile) app.route({ ...options, method: 'HEAD', url, schema: { hide: true } })
  }
