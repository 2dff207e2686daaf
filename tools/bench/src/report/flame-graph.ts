import { escapeXml, svgOf } from './svg'

/** A profile as V8 writes it (Chrome DevTools Protocol, Profiler.Profile). */
export type Profile = {
  nodes: {
    id: number
    callFrame: { functionName: string; url: string; lineNumber: number }
    children?: number[]
  }[]
  samples?: number[]
  timeDeltas?: number[]
}

type Frame = { name: string; own: number; total: number; children: Map<string, Frame> }

const WIDTH = 1200
const ROW = 16
const MIN_SHARE = 0.002
const DEEPEST = 60

/** Draws where a process spent its time, widest first; what waits (`idle`) is left out. */
export function flameGraph(title: string, profile: Profile): string {
  const root = mergedFrames(profile)
  const depth = Math.min(DEEPEST, depthOf(root, root.total * MIN_SHARE))
  const rects: string[] = []
  draw(root, { x: 0, level: 0, total: root.total, depth }, rects)
  const height = (depth + 1) * ROW + 30
  return svgOf(WIDTH, height, [`<text x="6" y="18" font-weight="bold">${escapeXml(title)}</text>`, ...rects])
}

/** The call tree with frames of the same name joined. */
export function mergedFrames({ nodes, samples = [], timeDeltas = [] }: Profile): Frame {
  const own = new Map<number, number>()
  samples.forEach((id, index) => {
    own.set(id, (own.get(id) ?? 0) + Math.max(0, timeDeltas[index] ?? 0))
  })
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const newFrame = (name: string): Frame => ({ name, own: 0, total: 0, children: new Map() })
  const root = newFrame('all')
  const add = (id: number, parent: Frame): number => {
    const node = byId.get(id)!
    const name = frameName(node.callFrame)
    if (name === '(idle)') return 0
    let frame = parent.children.get(name)
    if (!frame) {
      frame = newFrame(name)
      parent.children.set(name, frame)
    }
    const self = own.get(id) ?? 0
    const below = (node.children ?? []).reduce((sum, child) => sum + add(child, frame), 0)
    frame.own += self
    frame.total += self + below
    return self + below
  }
  for (const child of nodes[0]?.children ?? []) root.total += add(child, root)
  return root
}

/** Function and file, with as much of the path as belongs to the project or the package. */
function frameName({ functionName, url, lineNumber }: Profile['nodes'][number]['callFrame']): string {
  const file = url
    .replace(/^file:\/\//, '')
    .replace(/^.*\/node_modules\//, '')
    .replace(/^.*\/((?:apps|libs|tools)\/)/, '$1')
  const name = functionName || '(anonymous)'
  return file === '' ? name : `${name} ${file}:${lineNumber + 1}`
}

function depthOf({ children }: Frame, least: number): number {
  const below = [...children.values()].filter(({ total }) => total >= least)
  return 1 + Math.max(0, ...below.map((child) => depthOf(child, least)))
}

type At = { x: number; level: number; total: number; depth: number }

function draw(frame: Frame, { x, level, total, depth }: At, rects: string[]): void {
  const width = (frame.total / total) * WIDTH
  if (frame.total < total * MIN_SHARE || level > depth) return
  const y = 30 + level * ROW
  const share = `${((frame.total / total) * 100).toFixed(1)} %`
  const label = frame.name.slice(0, Math.floor(width / 6.2))
  rects.push(
    `<g><title>${escapeXml(frame.name)} (${share})</title>` +
      `<rect x="${x.toFixed(1)}" y="${y}" width="${Math.max(0.5, width - 0.5).toFixed(1)}" height="${ROW - 1}" fill="${colourOf(frame.name)}"/>` +
      (label.length > 2
        ? `<text x="${(x + 2).toFixed(1)}" y="${y + 11}" font-size="10">${escapeXml(label)}</text>`
        : '') +
      '</g>',
  )
  let left = x
  for (const child of [...frame.children.values()].sort((a, b) => b.total - a.total)) {
    draw(child, { x: left, level: level + 1, total, depth }, rects)
    left += (child.total / total) * WIDTH
  }
}

/** Own code, libraries, Node and the engine are told apart. */
function colourOf(name: string): string {
  if (/ (apps|libs|tools)\//.test(name)) return '#ff9d5c'
  if (/ node:/.test(name)) return '#a8d08d'
  if (/ /.test(name)) return '#ffd966'
  return '#c9c9c9'
}

/** The functions with the most time of their own: name and share of all. */
export function hottest(root: Frame, count: number): { name: string; share: number }[] {
  const own = new Map<string, number>()
  const visit = (frame: Frame) => {
    own.set(frame.name, (own.get(frame.name) ?? 0) + frame.own)
    for (const child of frame.children.values()) visit(child)
  }
  visit(root)
  return [...own]
    .sort((a, b) => b[1] - a[1])
    .slice(0, count)
    .map(([name, time]) => ({ name, share: time / root.total }))
}
