import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import { VERSION } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { nameComponents } from './name-components'

const DESCRIPTION = `Stores sales leads and tells the outside world about each new one with a signed webhook.

**Tokens.** Every operation but those under Health and Assets needs \`Authorization: Bearer <token>\`. A token belongs to one account and has scopes: \`leads\` (which includes \`leads:read\`), \`leads:read\`, \`manage\`. When a token expires within 14 days, every answer to its requests says when, in the header \`Token-Expires-At\`.

**Bodies** are JSON or \`application/x-www-form-urlencoded\`, at most 1 MiB. Booleans may be true, false, 1, 0, "1" and "0", in forms also \`true\` and \`false\`; a repeated field of a form is a list; integers may come as digits in a string; strings are trimmed; an empty string counts as null; unknown fields are ignored.

**Errors** are \`application/problem+json\` (RFC 9457). With status 422 \`errors\` lists every faulty field at once.

**Times** in answers are ISO 8601 in UTC with microseconds.`

const TAGS = [
  { name: 'Leads', description: 'Create, find and change leads.' },
  { name: 'Scheduling', description: 'Appointments and callbacks.' },
  { name: 'Attachments', description: 'Files of a lead.' },
  { name: 'Management', description: 'Visitor leads, images, users and tokens.' },
  { name: 'Webhooks', description: 'Where Lead Created is sent, and how that went.' },
  { name: 'Events', description: 'What webhook endpoints receive.' },
  { name: 'Notifications', description: 'What users were told, and how that went.' },
  { name: 'Assets', description: 'Stored images.' },
  { name: 'Health', description: 'For whoever runs the service.' },
]

// Scripts come from our own files alone. The page styles itself inline, and its icons are data URLs.
const docsPolicy = (publicUrl: string | undefined) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    // Where "try it" sends its requests.
    `connect-src 'self'${publicUrl ? ` ${new URL(publicUrl).origin}` : ''}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/** GET /openapi.json: OpenAPI 3.1 of every route that follows. GET /docs: a page to read it and try it on. */
export const serveOpenApi = (
  app: FastifyInstance,
  options: { publicUrl: string | undefined; addressOf: Dependencies['addressOf']; leadCreated: object },
): void => {
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Leadwire',
        version: VERSION,
        description: DESCRIPTION,
        contact: { name: 'Whoever runs this service' },
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: options.publicUrl ?? '/' }],
      tags: TAGS,
      // By reference: of a webhook that stands here openapi-generator makes Python that does not compile.
      webhooks: { 'lead.created': { $ref: '#/components/pathItems/LeadCreated' } },
      components: {
        pathItems: { LeadCreated: options.leadCreated } as never,
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'A token of your account.' },
        },
      },
    },
    transformObject: (given) => nameComponents('openapiObject' in given ? given.openapiObject : {}),
  })
  app.register(swaggerUi, { routePrefix: '/docs', staticCSP: docsPolicy(options.publicUrl) })
  app.get('/openapi.json', { schema: { hide: true } }, async (request, reply) =>
    reply
      .header('access-control-allow-origin', '*')
      .send({ ...app.swagger(), servers: [{ url: options.addressOf(request) }] }),
  )
}
