import { type Node, parseTree } from 'jsonc-parser'

type Step = string | number

// Of two members with one name the last counts, as for JSON.parse.
const memberOf = (node: Node | undefined, name: string): Node | undefined =>
  node?.children?.findLast((property) => property.children?.[0]?.value === name)?.children?.[1]

const follow = (root: Node | undefined, path: Step[]): Node | undefined =>
  path.reduce<Node | undefined>(
    (node, step) => (typeof step === 'number' ? node?.children?.[step] : memberOf(node, step)),
    root,
  )

const sliceOf = (source: string, node: Node) => source.slice(node.offset, node.offset + node.length)

const membersText = (source: string, object: Node): string => {
  const members = new Map<unknown, string>()
  for (const { children } of object.children ?? []) {
    const [key, value] = children as [Node, Node]
    // A repeated key counts at its last place.
    members.delete(key.value)
    members.set(key.value, `${sliceOf(source, key)}:${sliceOf(source, value)}`)
  }
  return `{${[...members.values()].join(',')}}`
}

/**
 * The source text of objects inside a JSON text, without the white space between their members. It keeps the order of keys, even of
 * numeric ones, and the spelling of numbers (design: Options), which JavaScript objects do not. Members must be strings and numbers.
 * Undefined for a path to no object.
 */
export const createOptionsText = (json: string): ((path: Step[]) => string | undefined) => {
  const root = parseTree(json, [], { disallowComments: true })
  return (path) => {
    const node = follow(root, path)
    return node?.type === 'object' ? membersText(json, node) : undefined
  }
}
