package sandbox

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/scanner"
)

// gqlOperation is a GraphQL document of one operation. Fragments other
// than those written in place, directives and block strings are not read: they are syntax errors here.
type gqlOperation struct {
	kind      string // query or mutation
	variables []gqlVariable
	fields    []gqlField
}

// gqlVariable is a declared variable.
type gqlVariable struct {
	name, typ string
	required  bool
	otherwise any // the default
}

// gqlVariableRef is the use of a variable in a value.
type gqlVariableRef string

// gqlField is a selected field.
type gqlField struct {
	alias, name  string // the alias is the name where none is given
	args         map[string]any
	fields       []gqlField
	on           string // the type of the fragment that the field stands in
	notNull      bool   // by the schema
	line, column int
}

// gqlParser reads tokens. After its first error every token is the end, so
// that the grammar's functions need not look.
type gqlParser struct {
	scan scanner.Scanner
	tok  rune
	err  *gqlError
}

func parseGraphQL(text string) (*gqlOperation, *gqlError) {
	p := &gqlParser{}
	p.scan.Init(strings.NewReader(text))
	p.scan.Mode = scanner.ScanIdents | scanner.ScanInts | scanner.ScanStrings
	p.scan.Whitespace = scanner.GoWhitespace | 1<<','
	p.scan.Error = func(_ *scanner.Scanner, message string) { p.fail(message) }
	p.next()
	op := p.operation()
	if p.err == nil && p.tok != scanner.EOF {
		p.unexpected()
	}
	return op, p.err
}

func (p *gqlParser) next() {
	if p.tok = p.scan.Scan(); p.err != nil {
		p.tok = scanner.EOF
	}
}

func (p *gqlParser) fail(why string) {
	if p.err == nil {
		at := gqlField{line: p.scan.Position.Line, column: p.scan.Position.Column}
		p.err = &gqlError{message: fmt.Sprintf("Parse error at [%d, %d]: %s", at.line, at.column, why), field: at}
	}
	p.tok = scanner.EOF
}

func (p *gqlParser) unexpected() {
	if p.tok == scanner.EOF {
		p.fail("unexpected end")
		return
	}
	p.fail("unexpected " + strconv.Quote(p.scan.TokenText()))
}

// took steps over the token if it is the one.
func (p *gqlParser) took(tok rune) bool {
	if p.tok != tok {
		return false
	}
	p.next()
	return true
}

func (p *gqlParser) expect(tok rune) {
	if !p.took(tok) {
		p.unexpected()
	}
}

func (p *gqlParser) ident() string {
	text := p.scan.TokenText()
	p.expect(scanner.Ident)
	return text
}

// operation reads "query Name($v: T) {…}", or fields alone, a query.
func (p *gqlParser) operation() *gqlOperation {
	op := &gqlOperation{kind: "query"}
	if p.tok == scanner.Ident {
		if op.kind = p.ident(); op.kind != "query" && op.kind != "mutation" {
			p.fail("unexpected " + strconv.Quote(op.kind))
		}
		if p.tok == scanner.Ident {
			p.ident()
		}
		if p.took('(') {
			for p.tok == '$' {
				op.variables = append(op.variables, p.variable())
			}
			p.expect(')')
		}
	}
	op.fields = p.selections()
	return op
}

func (p *gqlParser) variable() gqlVariable {
	p.expect('$')
	v := gqlVariable{name: p.ident()}
	p.expect(':')
	v.typ = p.typ()
	v.required = strings.HasSuffix(v.typ, "!")
	if p.took('=') {
		v.otherwise, v.required = p.value(), false
	}
	return v
}

func (p *gqlParser) typ() string {
	var text string
	if p.took('[') {
		text = "[" + p.typ() + "]"
		p.expect(']')
	} else {
		text = p.ident()
	}
	if p.took('!') {
		text += "!"
	}
	return text
}

func (p *gqlParser) selections() []gqlField {
	var fields []gqlField
	p.expect('{')
	for p.tok == scanner.Ident || p.tok == '.' {
		if p.tok == '.' {
			fields = append(fields, p.fragment()...)
			continue
		}
		fields = append(fields, p.field())
	}
	if len(fields) == 0 {
		p.unexpected()
	}
	p.expect('}')
	return fields
}

// fragment reads "... on Type {…}".
func (p *gqlParser) fragment() []gqlField {
	for range "..." {
		p.expect('.')
	}
	if word := p.ident(); word != "on" {
		p.fail("unexpected " + strconv.Quote(word))
	}
	typ := p.ident()
	fields := p.selections()
	for i := range fields {
		fields[i].on = typ
	}
	return fields
}

func (p *gqlParser) field() gqlField {
	f := gqlField{line: p.scan.Position.Line, column: p.scan.Position.Column, args: map[string]any{}}
	f.name = p.ident()
	f.alias = f.name
	if p.took(':') {
		f.name = p.ident()
	}
	if p.took('(') {
		p.members(')', f.args)
	}
	if p.tok == '{' {
		f.fields = p.selections()
	}
	return f
}

// members reads "name: value" up to the end.
func (p *gqlParser) members(end rune, into map[string]any) {
	for p.tok == scanner.Ident {
		name := p.ident()
		p.expect(':')
		into[name] = p.value()
	}
	p.expect(end)
}

func (p *gqlParser) value() any {
	switch p.tok {
	case '$':
		p.next()
		return gqlVariableRef(p.ident())
	case scanner.String:
		return p.text()
	case scanner.Int:
		n := json.Number(p.scan.TokenText())
		p.next()
		return n
	case scanner.Ident:
		return p.keyword()
	case '[':
		p.next()
		list := []any{}
		for p.tok != ']' && p.tok != scanner.EOF {
			list = append(list, p.value())
		}
		p.expect(']')
		return list
	case '{':
		p.next()
		object := map[string]any{}
		p.members('}', object)
		return object
	}
	p.unexpected()
	return nil
}

// text reads a string, whose escapes are those of JSON.
func (p *gqlParser) text() string {
	var s string
	if err := json.Unmarshal([]byte(p.scan.TokenText()), &s); err != nil {
		p.fail("bad string")
	}
	p.next()
	return s
}

// keyword reads true, false, null or the name of an enum.
func (p *gqlParser) keyword() any {
	switch name := p.ident(); name {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	default:
		return name
	}
}
