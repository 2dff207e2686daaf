import { setTimeout as pause } from 'node:timers/promises'
import { ATTRIBUTE_BYTES, MAX_ATTRIBUTES } from '@leadwire/contracts'
import { addErrors, CaptureForm, isEmpty } from '@leadwire/requests'
import { type CallLimits, ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify'
import { BATCHED_CALL_COST, PUBLIC_BODY_BYTES } from '../admission/admission'
import { withDailyLimit } from '../admission/rate-limits'
import { createCallLimits, requestFingerprint } from '../api/call-limits'
import { describeOperation } from '../api/describe-operation'
import { REQUEST_ID } from '../api/headers'
import type { Dependencies } from '../api/operation'
import { isMultipart } from '../body/collect-body'
import { countBodyBytes, readBody } from '../body/parse-body'
import { FORMATS } from '../files/attach-file'
import {
  discardFiles,
  type FormFile,
  type FormRules,
  type ReceivedForm,
  receiveForm,
  storedFile,
} from '../files/receive-form'
import { createCaptured, readTraceparent, readVisitor } from '../leads/create-lead'
import { capturedLead, isFieldOfLead, withoutRefusedReferrer } from './capture-fields'
import { createFindToken, TokenParams } from './find-token'
import { PAGE_HEADERS, receivedPage, refusedPage } from './pages'
import { sortOtherFields } from './sort-other-fields'
import { isOfProgram } from './stamp'
import { withoutTechnicalFields } from './technical-fields'

const MAX_FILES = 3
const MAX_FORM_BYTES = (10 * MAX_FILES + 1) * 1024 * 1024
/** How long the gateway may take from the arrival of the whole form to the response. */
const REQUEST_LIMIT_MS = 10_000
/** If a form is sent again within this time, the gateway creates no further lead. */
const SAME_FORM_S = 600
const RETRY_MS = 50

const MULTIPART: FormRules = {
  terms: { collection: 'attachments', formats: FORMATS.join(), sha256: true },
  refuseFile: (_part, { files }) =>
    files.length === MAX_FILES ? `A form may have at most ${MAX_FILES} files.` : undefined,
  ignoresEmptyFiles: true,
  maxFieldsBytes: PUBLIC_BODY_BYTES,
}

/**
 * Returns the idempotency key of a form. The key contains a line feed, so it differs from every key that a
 * client can send in an Idempotency-Key header.
 */
const createFormKey = (tokenId: number, fingerprint: Buffer, what: string) => ({
  tokenId,
  fingerprint,
  key: `form\n${what}`,
})

/** Returns the URL to which the gateway sends the person back. Adds `parameters` to the query of the URL. */
const buildReturnUrl = (returnUrl: string, parameters: [name: string, value: string][]): string => {
  const url = new URL(returnUrl)
  // Appends to the existing query, which must stay the same byte for byte. `searchParams` would rewrite the
  // query.
  url.search += `${url.search && '&'}${new URLSearchParams(parameters)}`
  return url.href
}

/** Runs `work`. If another request with the same key is in flight, runs `work` again, until the deadline. */
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

// These limits keep the Location header short, because proxies and browsers refuse a response with large
// headers.
const MAX_FIELDS_NAMED = 10
const MAX_NAME = 100

/**
 * Replaces a problem document. If the form is invalid (422) and the token has a return URL, redirects the
 * person to this URL. Otherwise shows an HTML page, if the client accepts HTML.
 */
const showProblem: onSendHookHandler<unknown> = (request, reply, payload, done) => {
  if (reply.statusCode < 400 || typeof payload !== 'string') return done(null, payload)
  const returnUrl = request.principal?.returnUrl
  const problem = JSON.parse(payload)
  if (reply.statusCode === 422 && returnUrl !== undefined) {
    const fields = Object.keys(problem.errors ?? {})
      .filter(({ length }) => length <= MAX_NAME)
      .slice(0, MAX_FIELDS_NAMED)
    const named = fields.map((field): [string, string] => ['field', field])
    reply.code(303).header('location', buildReturnUrl(returnUrl, [['error', 'invalid'], ...named]))
    reply.removeHeader('content-type')
    return done(null, '')
  }
  if (!request.headers.accept?.includes('text/html')) return done(null, payload)
  reply.headers(PAGE_HEADERS)
  done(null, refusedPage(problem))
}

/** Counts the bytes of a form's files. Throws `rate_limited` if the daily limit is exceeded. */
const countFiles = async (
  { clients, captureDailyBytes }: Dependencies,
  reply: FastifyReply,
  files: FormFile[],
  limits: CallLimits,
) => {
  const { accountId, tokenId } = reply.request.principal
  const bytes = files.reduce((sum, { upload }) => sum + upload.size, 0)
  if (bytes === 0) return
  const asked = { accountId, tokenId, bytes, dailyLimit: captureDailyBytes }
  const policy = { name: 'bytes', quota: captureDailyBytes, unit: 'content-bytes' } as const
  await withDailyLimit(reply, policy, () => clients.attachments.countCapturedBytes(asked, limits))
}

/**
 * Attaches the files of a form to its lead, except files that are already attached. Removes each attached
 * file from `files`, so that a later error does not discard an attached file.
 */
const attachFiles = async (
  dependencies: Dependencies,
  request: FastifyRequest,
  reference: string,
  files: FormFile[],
  limits: CallLimits,
) => {
  const { accountId, tokenId } = request.principal
  const { clients, configuredAddress } = dependencies
  for (let next = files.shift(); next; next = files.shift()) {
    const { fileName, upload } = next
    const fingerprint = Buffer.from(upload.sha256, 'hex')
    const file = { name: fileName, ...storedFile(next) }
    const asked = {
      accountId,
      reference,
      file,
      baseUrl: configuredAddress,
      idempotency: createFormKey(tokenId, fingerprint, `${reference} ${upload.sha256}`),
    }
    const { replayed } = await whenFree(limits, () => clients.attachments.attachFile(asked, limits))
    if (replayed) await discardFiles(dependencies, [next])
  }
}

const DESCRIPTION = describeOperation({
  operationId: 'captureLead',
  tag: 'Capture',
  summary: 'Submit a website form',
  description: `Creates a lead from a website form. Use the URL as the \`action\` of a form with the method POST. The fields that are listed below set the fields of the lead. Each of the other fields becomes an attribute, up to ${MAX_ATTRIBUTES}. Fields beyond that, and texts over ${ATTRIBUTE_BYTES} bytes, become lines of the \`description\`. Exception: an ASCII text over ${ATTRIBUTE_BYTES} bytes without spaces, such as a URL, is truncated to ${ATTRIBUTE_BYTES} bytes instead. Up to ${MAX_FILES} files become attachments (formats and limits: see Attach a file). The operation ignores captcha responses, CSRF tokens, fields whose names start with \`_\`, empty files, \`status\`, \`user_id\` and a \`referrer\` that is not one of the listed values. The fields of a form may have 64 KiB in total, not counting files. Repeating the same form within ten minutes creates no second lead.

If the token has a \`return_url\`, the response to a valid or an invalid form redirects (303) to this URL. The query of the URL then has the \`reference\` of the lead, or \`error=invalid\` and a \`field\` for each of the first ${MAX_FIELDS_NAMED} invalid fields. Without a \`return_url\`, the response to a valid form is an HTML page. Errors without a redirect are HTML pages if \`Accept\` names text/html, otherwise problem documents.`,
  scopes: null,
  params: TokenParams,
  body: CaptureForm,
  multipart: CaptureForm,
  problems: ['forbidden', 'conflict', 'rate-limited'],
  answer: { description: 'A page that confirms the submission.', types: ['text/html'] },
})

const SENT_BACK = {
  description: 'Redirect to the `return_url` of the token.',
  headers: { ...REQUEST_ID, Location: Type.String({ format: 'uri' }) },
  type: 'null',
}

/** Creates a lead from a plain HTML form of a website (docs/decisions/0028-capture.md). */
export const captureLead = (app: FastifyInstance, dependencies: Dependencies): void => {
  const { createCheck, countCapture, admission } = dependencies
  const check = createCheck(CaptureForm)
  const findToken = createFindToken(dependencies)
  const admit = (reply: FastifyReply, bodyBytes: number) =>
    admission.admitRequest(reply, { bodyBytes, callCost: BATCHED_CALL_COST })

  const buildLead = (request: FastifyRequest, form: ReceivedForm) => {
    const { fields } = form
    const { principal } = request
    const { honeypot } = principal
    const { value, errors: invalid = {} } = check(withoutRefusedReferrer(form))
    const isOther = (field: string) => field !== honeypot && !isFieldOfLead(field, value)
    const { errors, ...other } = sortOtherFields(fields, isOther)
    const allErrors = addErrors(invalid, errors)
    if (!value || Object.keys(allErrors).length > 0) throw ServiceError.invalid(allErrors)
    const isSpam =
      (honeypot !== undefined && ![fields[honeypot]].flat().every(isEmpty)) ||
      (value.stamp !== undefined && isOfProgram(value.stamp, principal))
    return capturedLead(readVisitor(request), value, { ...other, isSpam })
  }

  const createLead = async (reply: FastifyReply, form: ReceivedForm, limits: CallLimits) => {
    const { request } = reply
    const { accountId, tokenId, honeypot } = request.principal
    const kept = withoutTechnicalFields(form, honeypot)
    const lead = buildLead(request, kept)
    const { stamp: _, ...content } = kept.fields
    const fingerprint = requestFingerprint(request, content)
    const key = createFormKey(tokenId, fingerprint, fingerprint.toString('base64url'))
    const item = {
      accountId,
      lead,
      traceparent: readTraceparent(request),
      actor: limits.actor,
      idempotency: { ...key, maxAgeS: SAME_FORM_S },
    }
    await countFiles(dependencies, reply, form.files, limits)
    return whenFree(limits, () => createCaptured(dependencies, reply, item, limits))
  }

  const capture = async (request: FastifyRequest, reply: FastifyReply): Promise<string> => {
    const form: ReceivedForm = isMultipart(request)
      ? await receiveForm(dependencies, reply, MULTIPART)
      : { ...readBody(request), files: [], fieldsBytes: 0 }
    // Starts the time limit now, because a form with files may have taken long to arrive.
    const limits = { ...createCallLimits(reply), deadline: new Date(Date.now() + REQUEST_LIMIT_MS) }
    try {
      if (isMultipart(request)) await admit(reply, form.fieldsBytes)
      // Verifies the token again, because the token may have been revoked while the form arrived.
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
    config: { maxFormBytes: MAX_FORM_BYTES },
    schema: { ...DESCRIPTION, response: { ...(DESCRIPTION.response as object), 303: SENT_BACK } },
    onRequest: [findToken, countCapture],
    preValidation: async (request, reply) => {
      if (!isMultipart(request)) await admit(reply, countBodyBytes(request))
    },
    onSend: showProblem,
    handler: async (request, reply) => {
      const reference = await capture(request, reply)
      const { returnUrl } = request.principal
      if (returnUrl !== undefined)
        return reply.redirect(buildReturnUrl(returnUrl, [['reference', reference]]), 303)
      return reply.headers(PAGE_HEADERS).send(receivedPage())
    },
  })
}
