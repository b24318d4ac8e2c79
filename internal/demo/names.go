package demo

// What generated rows are made of. A few names have letters that are not
// ASCII, or an apostrophe: data has them, too.
var (
	firstNames = []string{
		"Ada", "Alan", "Alice", "Amir", "Ana", "André", "Anna", "Ben", "Carla", "Chen", "Clara",
		"Daniel", "Diego", "Edsger", "Elif", "Emil", "Emma", "Eva", "Fatima", "Felix", "Frances",
		"Grace", "Hana", "Hugo", "Ines", "Ivan", "Jana", "Jean", "John", "José", "Julia", "Jürgen",
		"Karen", "Kenji", "Lars", "Laura", "Leila", "Lena", "Liam", "Lucia", "Maria", "Mei", "Mia",
		"Nadia", "Niels", "Noor", "Olga", "Omar", "Paula", "Pavel", "Priya", "Rachel", "Rosa",
		"Samuel", "Sofia", "Søren", "Tara", "Tim", "Uma", "Vera", "Wei", "Yuki", "Yusuf", "Zoë",
	}
	lastNames = []string{
		"Adams", "Almeida", "Andersen", "Baker", "Bauer", "Becker", "Brown", "Carter", "Castro",
		"Chen", "Clark", "Cohen", "Costa", "Cruz", "Dubois", "Evans", "Farkas", "Ferrari",
		"Fischer", "Garcia", "Gupta", "Hansen", "Hill", "Hoffmann", "Ito", "Ivanova", "Jansen",
		"Johnson", "Kaya", "Keller", "Khan", "Kim", "Kowalski", "Larsen", "Lee", "Lopez",
		"Martin", "Meyer", "Miller", "Moreau", "Müller", "Nakamura", "Nguyen", "Nielsen",
		"Novak", "O'Brien", "Okafor", "Olsen", "Patel", "Pereira", "Petrov", "Reyes", "Rossi",
		"Sato", "Schmidt", "Silva", "Singh", "Smith", "Suzuki", "Tanaka", "Taylor", "Vargas",
		"Walker", "Weber", "Wong", "Young",
	}
	mailHosts = []string{"example.com", "example.net", "example.org", "mail.example"}
	jobs      = []string{"CLERK", "ANALYST", "ENGINEER", "DESIGNER", "OPERATOR", "PLANNER"}
	deptKinds = []string{
		"APPLIED", "CENTRAL", "CORPORATE", "DIGITAL", "EXTERNAL", "GENERAL", "GLOBAL", "INTERNAL",
		"NATIONAL", "NORTHERN", "REGIONAL", "SOUTHERN", "STRATEGIC", "TECHNICAL",
	}
	deptFields = []string{
		"ACCOUNTING", "ANALYTICS", "COMPLIANCE", "DESIGN", "ENGINEERING", "LOGISTICS", "MARKETING",
		"OPERATIONS", "PLANNING", "PROCUREMENT", "QUALITY", "RESEARCH", "SALES", "SUPPORT",
	}
	cities = []string{
		"AMSTERDAM", "ATLANTA", "BERLIN", "BOSTON", "BUENOS AIRES", "CHICAGO", "DALLAS", "DENVER",
		"DUBLIN", "HELSINKI", "LAGOS", "LISBON", "LONDON", "MADRID", "MELBOURNE", "MONTRÉAL",
		"MUMBAI", "NAIROBI", "NEW YORK", "OSAKA", "OSLO", "PARIS", "PRAGUE", "SEOUL", "SINGAPORE",
		"SÃO PAULO", "TOKYO", "TORONTO", "VIENNA", "ZÜRICH",
	}
)
