import { Readable } from 'node:stream'
import { type CallLimits, type FieldErrors, ServiceError } from '@leadwire/service-kit'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Scope } from '../auth/authenticate'
import { bodyOf } from '../body/body'
import { queryOf, refuseQuery } from '../body/query'
import type { Body, Checked } from '../validation/checker'
import { addErrors } from '../validation/errors'
import { limitsOf } from './call-limits'
import type { Dependencies } from './dependencies'
import { type Description, describeOperation } from './describe-operation'
import { idempotencyOf } from './idempotency'
import { leadReference, pathId } from './path-parameters'
import { IdParams, LeadParams } from './schemas'

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** A request whose token has the operation's scope, and what its response is made with. */
export interface Call<Fields>
  extends Omit<Dependencies, 'authenticate' | 'limitRequests' | 'createCheck' | 'wakeImports'> {
  request: FastifyRequest
  reply: FastifyReply
  accountId: number
  limits: CallLimits
  /** The `id` of the address. Throws not_found. */
  pathId: () => number
  /** The `reference` of the address. Throws not_found. */
  leadReference: () => string
  /** Checks the request's query where the operation has one, else its body; or other fields of it. */
  check: (body?: Body) => Checked<Fields>
  /**
   * The checked fields. Throws invalid with every error, those that `find` resolves to among them. `find` throws not_found, because a
   * missing record is a 404 whatever else is wrong.
   */
  valid: (find?: (fields: Record<string, unknown>) => Promise<FieldErrors>) => Promise<Fields>
}

interface Operation<Schema extends TObject> extends Omit<Description, 'scope' | 'tag' | 'params'> {
  /** Such as `GET /leads/:reference`. */
  route: `${Method} /${string}`
  /** `manage` by default; null needs no token. */
  scope?: Scope | null
  /** `Management` by default. */
  tag?: string
  body?: Schema
  /** By default those that the route names, `:reference` or `:id`. */
  params?: TObject
  /** What `check` checks where that is not the body: the filters of a query, the fields beside a file. */
  checks?: Schema
  /** The most bytes of a body. By default 1 MiB. */
  bodyLimit?: number
  /** The service that makes the change saves the response with it, under the Idempotency-Key that `limits` carry. */
  savesResponse?: boolean
  /** Whether its call of a service is batched with the calls of other requests. */
  isBatched?: boolean
  /** Resolves with the JSON of the response, the bytes of a file, or what stands in `{"data": …}`; undefined: no body. */
  handler: (call: Call<Static<Schema>>) => Promise<Readable | Uint8Array | string | object | undefined>
}

export type Handler<Fields> = (call: Call<Fields>) => Promise<Uint8Array | string | undefined>

const BODY_LIMIT = 1024 * 1024

// One for all operations with nothing to check: Ajv compiles a schema it knows no second time.
const NOTHING = Type.Object({})

const paramsOf = (url: string) => {
  if (url.includes(':reference')) return LeadParams
  return url.includes(':id') ? IdParams : undefined
}

const send = (reply: FastifyReply, result: Readable | Uint8Array | string | object | undefined) => {
  if (result === undefined || result instanceof Readable) return reply.send(result)
  const isJson = typeof result === 'string' || result instanceof Uint8Array
  return reply
    .header('content-type', 'application/json; charset=utf-8')
    .send(isJson ? result : JSON.stringify({ data: result }))
}

/** Makes the function that adds an operation to the API and to the OpenAPI document. */
export const operation =
  <Schema extends TObject>({
    route,
    scope = 'manage',
    tag = 'Management',
    checks,
    bodyLimit = BODY_LIMIT,
    savesResponse = false,
    isBatched = false,
    handler,
    ...description
  }: Operation<Schema>) =>
  (app: FastifyInstance, dependencies: Dependencies): void => {
    const { authenticate, limitRequests, createCheck, clients, admission, receiveUpload } = dependencies
    const { addressOf, timeZone, draining, fileIdleMs, importMaxBytes, now, logger } = dependencies
    const [method, url] = route.split(' ') as [Method, string]
    const sendsFile = 'types' in description.answer
    // Files take as long as their clients do, and have limits of their own.
    const isLimited = !sendsFile && !description.multipart && !description.stream
    const checkBody = createCheck((checks ?? description.body ?? NOTHING) as Schema)
    const parameters = description.query && Object.keys(description.query['properties'])
    // The interface ignores what it does not know.
    const refusesQuery = !parameters && scope === 'manage'
    const params = description.params ?? paramsOf(url)
    const options = {
      bodyLimit,
      onRequest: [
        ...(scope ? [authenticate(scope)] : []),
        ...(isLimited ? [limitRequests({ bodyLimit, isBatched })] : []),
      ],
      handler: async (request: FastifyRequest, reply: FastifyReply) => {
        if (refusesQuery) refuseQuery(request)
        const idempotency = savesResponse ? idempotencyOf(request, bodyOf(request).fields) : undefined
        const check = (body = parameters ? queryOf(request, parameters) : bodyOf(request)) => checkBody(body)
        // Each property by its name: V8 makes a hash table of what is spread. With that, and with a getter in the limits, the
        // gateway needed 105 instead of 45 us for a read.
        const result = await handler({
          clients,
          admission,
          receiveUpload,
          addressOf,
          timeZone,
          draining,
          fileIdleMs,
          importMaxBytes,
          now,
          logger,
          request,
          reply,
          accountId: request.principal?.accountId,
          limits: limitsOf(reply, idempotency),
          pathId: () => pathId(request),
          leadReference: () => leadReference(request),
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
      ...{ tag, idempotent: savesResponse, ...description },
      ...(scope && { scope }),
      ...(params && { params }),
    })
    app.route({ ...options, method, url, schema, exposeHeadRoute: !sendsFile })
    // Fastify's own HEAD would read the file to its end and throw it away.
    if (sendsFile) app.route({ ...options, method: 'HEAD', url, schema: { hide: true } })
  }
