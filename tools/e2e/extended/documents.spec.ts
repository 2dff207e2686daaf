import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const ROOT = resolve(__dirname, '../../..')
const NOT_OURS = new Set(['node_modules', 'dist', 'generated', 'out', 'coverage'])

/**
 * Lists the files of the repository by their paths from its root. Skips NOT_OURS and all folders whose names
 * start with a dot.
 */
const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (!entry.isDirectory()) return [relative(ROOT, path)]
    return NOT_OURS.has(entry.name) || entry.name.startsWith('.') ? [] : filesBelow(path)
  })

const FILES = filesBelow(ROOT)
const DOCUMENTS = FILES.filter((file) => file.endsWith('.md'))

/** Reads a document without its code blocks. */
const readProse = (file: string) =>
  readFileSync(join(ROOT, file), 'utf8').replace(/^(```|~~~)[^\n]*\n[\s\S]*?^\1[^\n]*$/gm, '')

/** Lists the anchors that GitHub generates for headings. */
const listAnchors = (file: string) =>
  [...readProse(file).matchAll(/^#+ +(.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  )

const isBroken = (document: string, link: string): boolean => {
  const [path = '', anchor] = decodeURI(link).split('#')
  const target = path === '' ? document : join(dirname(document), path)
  if (!existsSync(join(ROOT, target))) return true
  return anchor !== undefined && target.endsWith('.md') && !listAnchors(target).includes(anchor)
}

test.each(DOCUMENTS)('%s: every relative link has a target', (document) => {
  const links = [...readProse(document).matchAll(/\]\(([^)\s]+)[^)]*\)/g)].map(([, link]) => link!)
  const relativeLinks = links.filter((link) => !/^([a-z]+:|\/)/.test(link))
  expect(relativeLinks.filter((link) => isBroken(document, link))).toEqual([])
})

const ABOUT_THE_CODE = DOCUMENTS.filter((file) => /^docs\/(architecture\.md|decisions\/)/.test(file))

const existsInRepository = (name: string) =>
  FILES.some((file) => {
    const path = `/${file}`
    return name.endsWith('/') ? path.includes(`/${name}`) : path.endsWith(`/${name}`)
  })

test.each(ABOUT_THE_CODE)('%s: every file and folder that it names exists', (document) => {
  const names = [
    ...readProse(document).matchAll(/`([\w.@-][\w./@-]*(?:\/|\.(?:ts|proto|cjs|mjs|md|yaml)))`/g),
  ]
  expect(names.map(([, name]) => name!).filter((name) => !existsInRepository(name))).toEqual([])
})
