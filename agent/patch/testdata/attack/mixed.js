// Mixed: some of it was written with tabs, some with spaces.
const rows = [
  { name: "a", size: 1 },
  { name: "b", size: 2 },
  { name: "c", size: 3 },
];

function total(list) {
	let sum = 0;
	for (const r of list) {
		sum += r.size;
	}
	return sum;
}

function names(list) {
    const out = [];
    for (const r of list) {
        if (r.size > 1) {
            out.push(r.name);
        }
    }
    return out;
}

function print(list) {
	for (const r of list) {
	    if (r.size > 1) {
	        console.log(`${r.name}:	${r.size}`);
	    }
	}
}

export default { total, names, print };