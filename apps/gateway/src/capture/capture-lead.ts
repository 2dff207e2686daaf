import { setTimeout as pause } from 'node:timers/promises'
import { type CallLimits, ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify'
import { limitsOf } from '../api/call-limits'
import type { Dependencies } from '../api/dependencies'
import { describeOperation } from '../api/describe-operation'
import { REQUEST_ID } from '../api/headers'
import { requestFingerprint } from '../api/idempotency'
import { bodyOf } from '../body/body'
import { FORMATS } from '../files/attach-file'
import {
  discardFiles,
  type FormFile,
  type FormRules,
  type ReceivedForm,
  receiveForm,
  storedFile,
} from '../files/receive-form'
import { createCaptured, traceparentOf } from '../leads/create-lead'
import { visitorOf } from '../leads/lead-fields'
import { addErrors } from '../validation/errors'
import { isEmpty } from '../validation/normalise'
import { attributesOf, CaptureForm, capturedLead } from './capture-fields'
import { createFindToken, TokenParams } from './find-token'
import { PAGE_HEADERS, receivedPage, refusedPage } from './pages'
import { isOfProgram } from './stamp'

const BODY_LIMIT = 1024 * 1024
const MAX_FILES = 3
const MAX_FORM_BYTES = (10 * MAX_FILES + 1) * 1024 * 1024
/** As long as a request without files may take. */
const REQUEST_LIMIT_MS = 10_000
/** The same form again within this time is the same lead. */
const SAME_FORM_S = 600
const RETRY_MS = 50

const MULTIPART: FormRules = {
  terms: { collection: 'attachments', formats: FORMATS.join(), keep: true, sha256: true },
  refusalOf: (_part, { files }) =>
    files.length === MAX_FILES ? `A form may have ${MAX_FILES} files.` : undefined,
  // More than a description has.
  maxFieldBytes: 64 * 1024,
}

const isMultipart = ({ headers }: FastifyRequest) => /^multipart\//i.test(headers['content-type'] ?? '')

/** A new line is in no Idempotency-Key of a client. */
const keyOf = (tokenId: number, fingerprint: Buffer, what: string) => ({
  ...{ tokenId, fingerprint, key: `form\n${what}` },
})

/** Where the person goes back to. */
const returnTo = (returnUrl: string, parameters: [name: string, value: string][]): string => {
  const url = new URL(returnUrl)
  // What is there stays byte for byte: `searchParams` would write it anew.
  url.search += `${url.search && '&'}${new URLSearchParams(parameters)}`
  return url.href
}

/** Runs `work` again while another request with the same key is in flight. */
const whenFree = async <Result>({ deadline }: CallLimits, work: () => Promise<Result>): Promise<Result> => {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const isTaken = error instanceof ServiceError && error.code === 'conflict'
      if (!isTaken || deadline.getTime() <= Date.now() + RETRY_MS) throw error
      await pause(RETRY_MS)
    }
  }
}

// Proxies and browsers refuse a response whose headers are large.
const MAX_FIELDS_NAMED = 10
const MAX_NAME = 100

/** A person sees a page instead of the problem document, or goes back to the form. */
const showProblem: onSendHookHandler<unknown> = (request, reply, payload, done) => {
  if (reply.statusCode < 400 || typeof payload !== 'string') return done(null, payload)
  const returnUrl = request.principal?.returnUrl
  const problem = JSON.parse(payload)
  if (reply.statusCode === 422 && returnUrl !== undefined) {
    const fields = Object.keys(problem.errors ?? {})
      .filter(({ length }) => length <= MAX_NAME)
      .slice(0, MAX_FIELDS_NAMED)
    const named = fields.map((field): [string, string] => ['field', field])
    reply.code(303).header('location', returnTo(returnUrl, [['error', 'invalid'], ...named]))
    reply.removeHeader('content-type')
    return done(null, '')
  }
  if (!request.headers.accept?.includes('text/html')) return done(null, payload)
  reply.headers(PAGE_HEADERS)
  done(null, refusedPage(problem))
}

/** Attaches the files of a form to its lead, each once, and takes them from the list. */
const attachFiles = async (
  dependencies: Dependencies,
  request: FastifyRequest,
  reference: string,
  files: FormFile[],
  limits: CallLimits,
) => {
  const { accountId, tokenId } = request.principal
  const { clients, addressOf } = dependencies
  for (let next = files.shift(); next; next = files.shift()) {
    const { fileName, upload } = next
    const fingerprint = Buffer.from(upload.sha256, 'hex')
    const file = { name: fileName, ...storedFile(next) }
    const asked = {
      ...{ accountId, reference, file, baseUrl: addressOf(request), claimId: '' },
      idempotency: keyOf(tokenId, fingerprint, `${reference} ${upload.sha256}`),
    }
    const { replayed } = await whenFree(limits, () => clients.attachments.attachFile(asked, limits))
    if (replayed) await discardFiles(dependencies, [next])
  }
}

const DESCRIPTION = describeOperation({
  operationId: 'captureLead',
  tag: 'Capture',
  summary: 'Send a form of a website',
  description: `For the \`action\` of a form with the method POST. The fields of Create Lead are those of the lead, further ones become its attributes, and up to ${MAX_FILES} files, each as in Attach a file, its attachments. The same form again within ten minutes is the same lead.

The answer is 303 to the token's \`return_url\`, with \`reference\`, or with \`error=invalid\` and a \`field\` for each invalid field. Without a return_url, and for other errors, it is a page where \`Accept\` names text/html.`,
  scopes: null,
  params: TokenParams,
  body: CaptureForm,
  multipart: CaptureForm,
  problems: ['forbidden', 'conflict', 'rate-limited'],
  answer: { description: 'A page that says thank you.', types: ['text/html'] },
})

const SENT_BACK = {
  description: "Back to the token's return_url.",
  headers: { ...REQUEST_ID, Location: Type.String({ format: 'uri' }) },
  type: 'null',
}

/** A plain form of a website (design: Capture). */
export const captureLead = (app: FastifyInstance, dependencies: Dependencies): void => {
  const { createCheck, countCapture, limitRequests } = dependencies
  const check = createCheck(CaptureForm)
  const findToken = createFindToken(dependencies)
  const limit = limitRequests({ bodyLimit: BODY_LIMIT, isBatched: true })

  const leadOf = (request: FastifyRequest, form: ReceivedForm) => {
    const { fields } = form
    const { honeypot, tokenId } = request.principal
    const { value, errors: invalid = {} } = check(form)
    const other = attributesOf(fields, honeypot)
    const allErrors = addErrors(invalid, other.errors)
    if (!value || Object.keys(allErrors).length > 0) throw ServiceError.invalid(allErrors)
    const isSpam =
      (honeypot !== undefined && ![fields[honeypot]].flat().every(isEmpty)) ||
      (value.stamp !== undefined && isOfProgram(value.stamp, dependencies, tokenId))
    return capturedLead(visitorOf(request), value, { attributes: other.attributes, isSpam })
  }

  const createLead = (reply: FastifyReply, form: ReceivedForm, limits: CallLimits) => {
    const { request } = reply
    const { accountId, tokenId } = request.principal
    const lead = leadOf(request, form)
    const { stamp: _, ...content } = form.fields
    const fingerprint = requestFingerprint(request, content)
    const key = keyOf(tokenId, fingerprint, fingerprint.toString('base64url'))
    const item = {
      ...{ accountId, lead, traceparent: traceparentOf(request), actor: limits.actor },
      idempotency: { ...key, maxAgeS: SAME_FORM_S },
    }
    return whenFree(limits, () => createCaptured(dependencies, reply, item, limits))
  }

  const capture = async (request: FastifyRequest, reply: FastifyReply): Promise<string> => {
    const form: ReceivedForm = isMultipart(request)
      ? await receiveForm(dependencies, reply, MULTIPART)
      : { ...bodyOf(request), files: [] }
    // From now: the form may have taken long to arrive.
    const limits = { ...limitsOf(reply), deadline: new Date(Date.now() + REQUEST_LIMIT_MS) }
    try {
      // Meanwhile it may have been revoked.
      await findToken.call(app, request, reply)
      const { reference } = await createLead(reply, form, limits)
      await attachFiles(dependencies, request, reference, form.files, limits)
      return reference
    } catch (error) {
      await discardFiles(dependencies, form.files)
      throw error
    }
  }

  app.post('/capture/:token', {
    bodyLimit: BODY_LIMIT,
    config: { maxFormBytes: MAX_FORM_BYTES },
    schema: { ...DESCRIPTION, response: { ...(DESCRIPTION.response as object), 303: SENT_BACK } },
    onRequest: [
      findToken,
      countCapture,
      async function (request, reply) {
        if (!isMultipart(request)) await limit.call(this, request, reply)
      },
    ],
    onSend: showProblem,
    handler: async (request, reply) => {
      const reference = await capture(request, reply)
      const { returnUrl } = request.principal
      if (returnUrl !== undefined) return reply.redirect(returnTo(returnUrl, [['reference', reference]]), 303)
      return reply.headers(PAGE_HEADERS).send(receivedPage())
    },
  })
}
