/**
 * Sends items that ask for the same thing as one, with the latest of their deadlines, and gives each of them its result.
 * Only for calls that change nothing.
 */
export const askOnce =
  <Item, Result>(
    keyOf: (item: Item) => string,
    send: (items: Item[], deadlines: number[]) => Promise<Result[]>,
  ) =>
  async (items: Item[], deadlines: number[]): Promise<Result[]> => {
    const asked = new Map<string, { item: Item; deadline: number; place: number }>()
    const places = items.map((item, index) => {
      const [key, deadline] = [keyOf(item), deadlines[index]!]
      const same = asked.get(key)
      if (same) same.deadline = Math.max(same.deadline, deadline)
      else asked.set(key, { item, deadline, place: asked.size })
      return same?.place ?? asked.size - 1
    })
    const unique = [...asked.values()]
    const results = await send(
      unique.map(({ item }) => item),
      unique.map(({ deadline }) => deadline),
    )
    return places.map((place) => results[place]!)
  }
