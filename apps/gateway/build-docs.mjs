// Part of the gateway's build: puts what /docs serves into dist/docs. Pages keep their names. What pages name carries a hash
// of its bytes in its name, so that it may be kept for ever.
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, extname, join } from 'node:path'
import { Marked } from 'marked'

const assets = 'docs-assets'
const guidesFolder = '../../docs/guides'
const out = 'dist/docs'

const explorer = createRequire(import.meta.url)
  .resolve('openapi-explorer/package.json')
  .replace('package.json', 'dist/browser/openapi-explorer.min.js')

const hashed = (name, bytes) => {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16)
  return `${name.slice(0, -extname(name).length)}-${hash}${extname(name)}`
}

const fill = (template, values) =>
  template.replace(/%([\w.-]+)%/g, (_, name) => {
    if (!(name in values)) throw new Error(`nothing is called ${name}`)
    return values[name]
  })

// The order in which a newcomer needs them stands in the first line of each: <!-- order: 1 -->.
const readGuides = () =>
  readdirSync(guidesFolder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => {
      const text = readFileSync(join(guidesFolder, name), 'utf8')
      const [, order] = /^<!-- order: (\d+) -->\n/.exec(text) ?? []
      const [, title] = /^# (.+)$/m.exec(text) ?? []
      if (!order || !title) throw new Error(`${name} has no order, or no title`)
      return { name: name.slice(0, -3), order: Number(order), title, text }
    })
    .sort((a, b) => a.order - b.order)

const anchor = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')

const markdown = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${anchor(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
    },
    // Guides name each other, and other files, by their paths in the repository, where they are read too.
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens)
      const name = basename(href)
      if (names[name]) return `<a href="../${names[name]}">${text}</a>`
      return href.startsWith('../') ? text : `<a href="${href.replace(/^([\w-]+)\.md/, '$1')}">${text}</a>`
    },
  },
})

rmSync(out, { recursive: true, force: true })
mkdirSync(join(out, 'guides'), { recursive: true })

const names = {}
for (const [name, path] of [
  ['openapi-explorer.js', explorer],
  ['docs.css', join(assets, 'docs.css')],
  ['docs.js', join(assets, 'docs.js')],
  ['icon.svg', '../../libs/console/src/icon.svg'],
  ...['vectors.json', 'examples/express.mjs', 'examples/fastify.mjs'].map((path) => [
    basename(path),
    join('../../libs/webhook-receiver', path),
  ]),
]) {
  const bytes = readFileSync(path)
  names[name] = hashed(name, bytes)
  writeFileSync(join(out, names[name]), bytes)
}

const guides = readGuides()
const values = { ...names, 'first-guide': guides[0].name }
writeFileSync(join(out, 'index.html'), fill(readFileSync(join(assets, 'index.html'), 'utf8'), values))

const guidePage = readFileSync(join(assets, 'guide.html'), 'utf8')
for (const guide of guides) {
  const items = guides.map(
    ({ name, title }) =>
      `<li><a href="${name}"${name === guide.name ? ' aria-current="page"' : ''}>${title}</a></li>`,
  )
  const content = markdown.parse(guide.text)
  const page = fill(guidePage, {
    ...values,
    title: guide.title,
    guides: `<ul>${items.join('')}</ul>`,
    content,
  })
  writeFileSync(join(out, 'guides', `${guide.name}.html`), page)
}
