// Part of the gateway's build. Writes the documentation pages that the gateway serves into dist/docs. The
// name of every file that a page loads contains a hash of the file's bytes, so that browsers may cache the
// file for ever.
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, extname, join } from 'node:path'
import hljs from 'highlight.js'
import { Marked } from 'marked'

const assets = 'docs-assets'
const guidesFolder = '../../docs/guides'
const icon = '../../libs/console/src/icon.svg'
const out = 'dist/docs'

const require = createRequire(import.meta.url)
const { DOCUMENTED_PROBLEMS } = require('./dist/http/problem-help.js')
const explorer = require
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

// The first line of a guide gives the guide's position in the reading order, such as <!-- order: 1 -->.
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
    // Converts a link. In a guide, each link is a path in the repository, because guides are also read there.
    // A link to a file that is not published becomes plain text.
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens)
      const name = basename(href)
      if (names[name]) return `<a href="../${names[name]}">${text}</a>`
      return href.startsWith('../') ? text : `<a href="${href.replace(/^([\w-]+)\.md/, '$1')}">${text}</a>`
    },
    // Colours the code with classes, because the content security policy refuses inline styles. `tabindex`
    // lets keyboard users scroll a long line.
    code({ text, lang: language }) {
      const { value } = hljs.highlight(text, { language })
      return `<figure><figcaption>${hljs.getLanguage(language).name}</figcaption><pre tabindex="0"><code class="language-${language}">${value}</code></pre></figure>\n`
    },
  },
  hooks: {
    postprocess: (html) =>
      html
        .replaceAll('<table>', '<div class="scroll" tabindex="0"><table>')
        .replaceAll('</table>', '</table></div>')
        .replaceAll('<th></th>', '<td></td>'),
  },
})

rmSync(out, { recursive: true, force: true })
mkdirSync(join(out, 'guides'), { recursive: true })

const asset = (name) => readFileSync(join(assets, name), 'utf8')
const names = {}
for (const [name, path] of [
  ['openapi-explorer.js', explorer],
  ...['pages.css', 'reference.js', 'copy.js'].map((name) => [name, join(assets, name)]),
  ['icon.svg', icon],
  ...['vectors.json', 'examples/express.mjs', 'examples/fastify.mjs'].map((path) => [
    basename(path),
    join('../../libs/webhook-receiver', path),
  ]),
]) {
  const bytes = readFileSync(path)
  names[name] = hashed(name, bytes)
  writeFileSync(join(out, names[name]), bytes)
}

// Copies the icon under a name without a hash too, because some browsers request /favicon.ico, whatever the
// page links to.
copyFileSync(icon, join(out, 'icon.svg'))

const guides = readGuides()
const values = { ...names, 'first-guide': guides[0].name }

const link = (href, text, isCurrent) =>
  `<a href="${href}"${isCurrent ? ' aria-current="page"' : ''}>${text}</a>`

/**
 * Writes a page. `root` is the relative path from the page to the site's root. All links start with `root`,
 * because a proxy may serve the site below a path.
 */
const writePage = (file, { kind, title, body, root = './', scripts = [], tools = '' }) => {
  const pages = [
    link(`${root}docs`, 'Reference', kind === 'reference'),
    link(`${root}docs/guides/${guides[0].name}`, 'Guides', kind === 'guide'),
    link(`${root}problems`, 'Problems', kind === 'problems'),
    link(`${root}console`, 'Console'),
    link(`${root}openapi.json`, 'OpenAPI'),
  ].join('')
  const tags = scripts
    .map((name) => `<script type="module" src="${root}docs/${names[name]}"></script>`)
    .join('')
  writeFileSync(
    join(out, file),
    fill(asset('page.html'), { ...values, kind, title, body, root, pages, scripts: tags, tools }),
  )
}

/** Returns the body of a page with a list of links beside the text. */
const columns = (label, linksBeside, text) => `<div class="columns">
      <nav aria-label="${label}"><ul>${linksBeside.map((one) => `<li>${one}</li>`).join('')}</ul></nav>
      <main id="main">${text}</main>
    </div>`

writePage('home.html', { kind: 'home', title: 'Leadwire', body: fill(asset('home.html'), values) })
writePage('reference.html', {
  kind: 'reference',
  title: 'Leadwire reference',
  body: asset('reference.html'),
  scripts: ['openapi-explorer.js', 'reference.js'],
  tools: asset('token.html'),
})

const problems = Object.entries(DOCUMENTED_PROBLEMS).map(
  ([kind, { status, title, meaning, remedy }]) =>
    `## ${kind}\n\n**${status} ${title}.** ${meaning} ${remedy}\n`,
)
writePage('problems.html', {
  kind: 'problems',
  title: 'Leadwire problems',
  body: columns(
    'Problems',
    Object.keys(DOCUMENTED_PROBLEMS).map((kind) => link(`#${kind}`, kind)),
    markdown.parse(`${asset('problems.markdown')}\n${problems.join('\n')}`),
  ),
  scripts: ['copy.js'],
})

const turn = (rel, label, guide) =>
  guide ? `<a rel="${rel}" href="${guide.name}"><small>${label}</small> ${guide.title}</a>` : ''
for (const [at, guide] of guides.entries()) {
  const beside = guides.map(({ name, title }) => link(name, title, name === guide.name))
  const turns = turn('prev', 'Previous', guides[at - 1]) + turn('next', 'Next', guides[at + 1])
  const text = `${markdown.parse(guide.text)}<nav class="turn" aria-label="Previous and next">${turns}</nav>`
  writePage(`guides/${guide.name}.html`, {
    kind: 'guide',
    title: `${guide.title} · Leadwire guides`,
    body: columns('Guides', beside, text),
    root: '../../',
    scripts: ['copy.js'],
  })
}
